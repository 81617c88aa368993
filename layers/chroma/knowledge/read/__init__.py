"""Files and folders as documents."""
