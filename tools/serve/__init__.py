"""The local HTTP server: the Lambda handler behind waitress, with API Gateway's part between."""
