// Code generated from scripts/vm/control; DO NOT EDIT.

