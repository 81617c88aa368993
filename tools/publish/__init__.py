"""An index as a version in a stack's bucket, and the stack told of it (``ragctl publish``)."""
