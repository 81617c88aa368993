"""Answer cache, memory and feedback in one DynamoDB table."""
