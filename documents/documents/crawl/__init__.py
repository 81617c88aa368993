"""Web sites as documents: fetch the pages of a site into a cache."""
