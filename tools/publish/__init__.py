"""Publishing an index: a version in a bucket or on a server, and the stack's update to it (``ragctl publish``)."""
