"""What stands beside documents and tells their addresses: the configuration of the tool that makes a site of them."""
