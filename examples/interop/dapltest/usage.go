package main

const usage = `Usage: dapltest                          a server, with all defaults
       dapltest -T S [FLAG...]           a server
       dapltest -T T -s HOST [FLAG...] OPERATION...   transactions with a server
       dapltest -T P -s HOST [FLAG...] KIND [SIZE [SEGMENTS]]   a measurement
       dapltest -T Q -s HOST [FLAG...]   have a server quit when its tests are over
       dapltest -T L [FLAG...] [LIMIT...]   limits of an adapter
       dapltest -T F -f FEATURE [FLAG...] [caseN...]   single functions
       dapltest -f FILE                  the arguments are in the file

-T comes first. Flags can be joined, and so can a flag and its value (-i100).

For all tests
  -D NAME      the adapter; without it the first registered one that opens
  -n PORT      the server's connection qualifier; default 62000
  -s HOST      the server's host
  -R BE        best effort, the only quality of service that providers have
  -d           say what is done; twice or three times, say more (not with F)

Transactions: each thread goes through the operations again and again, on all of
its endpoints at a time. An operation is
    client|server SR|RW|RR [SIZE [SEGMENTS]] [-f]
that is who begins it, a message, an RDMA write or an RDMA read, and how large; by
default one segment of 4096 bytes. At least one message of each side is needed.
-f is for messages, in pairs: the client's is known to be sent when the server's
has come.
  -i COUNT     iterations; default 1000
  -t COUNT     threads; default 1
  -w COUNT     endpoints of a thread; default 1
  -r           the server listens on reserved service points
  -V           check all data; this adds three messages to each iteration
  -P           poll for completions instead of waiting

Measurement: KIND is RW or RR.
  -i COUNT     operations; default 1000
  -p COUNT     of which so many are outstanding at a time; default: as many as can be
  -m b|p       wait for completions, the default, or poll

Limits: limit_ia, limit_pz, limit_cno, limit_evd, limit_ep, limit_rsp, limit_psp,
limit_lmr, limit_rpost, limit_size_lmr; all of them by default.
  -m COUNT     make no more objects of a kind; default 1000
  -w COUNT     sets of what they need; default 1

Features: hwconn, endpoint, pz, mem, connmgt, queryinfo; all cases by default.
  -i, -t, -v   are read, and mean nothing
`
