/**
 * Every error that callers can branch on, by its stable name: its HTTP status, what it means, and what the caller can do about it. SMTP
 * replies are mapped from these names too. The message in a response is usually more specific than the entry here.
 */
export const errorTable = {
  invalid_json: {
    status: 400,
    meaning: 'The body is not valid JSON in UTF-8, is nested too deeply, or is not an object (or an array) where one is needed.',
    remedy: 'Build the body with a JSON library. In some languages a list with gaps is serialised as an object: close the gaps.',
  },
  invalid_host: {
    status: 400,
    meaning: 'The request has more than one Host field (RFC 9112 3.2).',
    remedy: 'Send one. A proxy that adds its own must replace the one that is there.',
  },
  invalid_idempotency_key: {
    status: 400,
    meaning: 'The header Idempotency-Key is empty or longer than 256 characters.',
    remedy: 'Send 1 to 256 characters, such as a UUID, or leave the header out.',
  },
  missing_api_key: {
    status: 401,
    meaning: 'The request has no API key.',
    remedy: 'Send the header "Authorization: Bearer <API_KEY>".',
  },
  invalid_api_key: {
    status: 401,
    meaning: 'The API key does not exist: it is mistyped or has been revoked.',
    remedy: 'Check for missing or extra characters. If the key was revoked, create a new one. Do not retry the same request.',
  },
  expired_api_key: {
    status: 401,
    meaning: 'The API key has expired.',
    remedy: 'Create a new key.',
  },
  invalid_session: {
    status: 401,
    meaning: 'The login has ended, or its token, which is valid for 15 minutes, has expired.',
    remedy: 'Get a new token with POST /session/token. If that is refused too, log in again.',
  },
  invalid_credentials: {
    status: 401,
    meaning: 'The email address, the password or the code is wrong. A code works once.',
    remedy: 'Check them; for a code, wait for the next one. If you have lost them, ask an owner of the account for a new invitation.',
  },
  unverified_report: {
    status: 401,
    meaning: 'What is said to be a report of the smarthost has no proof that it is: a signature or a password is missing or wrong.',
    remedy: 'Check delivery.smarthost_reports_key, and what the page of the service says of the webhook. See smarthosts.md.',
  },
  second_factor_required: {
    status: 401,
    meaning: 'The password is right, but a code is required too.',
    remedy: 'Repeat the request with `code`: the code in your authenticator app, or a recovery code.',
  },
  restricted_api_key: {
    status: 403,
    meaning:
      'The API key is not allowed to do this: it lacks the permission, is limited to another domain, or is a sandbox key and ' +
      'the request would change live data.',
    remedy: 'Use a key of the kind that the message names.',
  },
  https_required: {
    status: 403,
    meaning: 'The request came without TLS and brings an API key, a token or a password, which anybody on the way could read.',
    remedy:
      'Use the https URL, and replace the key or the password. An operator who wants plain HTTP sets http.redirect_to_https to false.',
  },
  foreign_origin: {
    status: 403,
    meaning: 'The request came from a page of another website.',
    remedy: 'Log in at the address in the setting base_url, or at the address that the page was loaded from.',
  },
  domain_not_verified: {
    status: 403,
    meaning: 'The domain of the From address is not verified for this account.',
    remedy: 'Add the domain, publish its DNS records and verify it; then repeat the request.',
  },
  account_suspended: {
    status: 403,
    meaning: 'The account is suspended and cannot send.',
    remedy: 'Ask the operator of this server.',
  },
  not_found: {
    status: 404,
    meaning: 'Nothing has this id, or the path does not exist. Objects of other accounts count as nonexistent.',
    remedy: 'Check the id and the path. The key must belong to the same account as the object, and be live or sandbox as the object is.',
  },
  method_not_allowed: {
    status: 405,
    meaning: 'The path exists, but not with this method.',
    remedy: 'Use one of the methods in the Allow header.',
  },
  invalid_idempotent_request: {
    status: 409,
    meaning: 'The same Idempotency-Key was used for another request within the last 24 hours.',
    remedy: 'Use a new key for each new request. To repeat a request, send the same body byte for byte.',
  },
  concurrent_idempotent_requests: {
    status: 409,
    meaning: 'A request with the same Idempotency-Key is still in progress.',
    remedy: 'Wait for the number of seconds in Retry-After, then repeat the request: you get the response to the first one.',
  },
  invalid_state: {
    status: 409,
    meaning: 'The object is in a state that does not allow this.',
    remedy: 'Read the object to see its state.',
  },
  domain_exists: {
    status: 409,
    meaning: 'The account already has this domain.',
    remedy: 'Use the existing domain.',
  },
  account_exists: {
    status: 409,
    meaning: 'An account with this name already exists.',
    remedy: 'Choose another name.',
  },
  user_exists: {
    status: 409,
    meaning: 'The account has a user with this email address already.',
    remedy: 'Use another address, or change the existing user.',
  },
  rotation_in_progress: {
    status: 409,
    meaning: 'The previous rotation is not over: what it replaced is still valid for a while.',
    remedy: 'Wait until the overlap has ended, or send "force": true to end it now.',
  },
  alias_taken: {
    status: 409,
    meaning: 'Another template of the account has this alias.',
    remedy: 'Choose another alias, or remove it from the other template first.',
  },
  payload_too_large: {
    status: 413,
    meaning: 'The request, or the message made from it, is too large.',
    remedy: 'Send less: smaller attachments, or links to them.',
  },
  unsupported_media_type: {
    status: 415,
    meaning: 'The body has a content type that this path does not accept, or it is compressed.',
    remedy: 'Send the Content-Type that the path accepts, almost always application/json, and no Content-Encoding.',
  },
  unsupported_field: {
    status: 422,
    meaning: 'A field requests something that this server does not support, or that its settings do not allow.',
    remedy: 'Leave the field out; the message says what to use instead.',
  },
  validation_error: {
    status: 422,
    meaning: 'Some fields are invalid. `errors` has an entry for each.',
    remedy: 'Correct the fields named in `errors`.',
  },
  missing_required_field: {
    status: 422,
    meaning: 'A required field is missing. `errors` names it.',
    remedy: 'Add the field.',
  },
  invalid_from_address: {
    status: 422,
    meaning: 'The From address is not exactly one valid address.',
    remedy: 'Send one address, such as "Acme <app@example.com>".',
  },
  invalid_parameter: {
    status: 422,
    meaning: 'A query parameter is invalid or given twice, or two parameters exclude each other.',
    remedy: 'Correct the parameter that the message names.',
  },
  invalid_attachment: {
    status: 422,
    meaning: 'An attachment is not valid base64, or its name or type is invalid.',
    remedy: 'Encode the bytes of the file in base64, without a data: prefix and without line breaks.',
  },
  invalid_event_type: {
    status: 422,
    meaning: 'There is no event type with this name.',
    remedy: 'Use one of the names in the message.',
  },
  invalid_message: {
    status: 422,
    meaning: 'The message cannot be sent as it is, for example because a header field is not allowed.',
    remedy: 'Correct what the error message names.',
  },
  too_many_recipients: {
    status: 422,
    meaning: 'The email has too many recipients.',
    remedy: 'Split it into several emails.',
  },
  template_not_found: {
    status: 422,
    meaning: 'The email names a template that this account does not have.',
    remedy: 'Set `template.id` to the id or alias of one of its templates.',
  },
  template_not_published: {
    status: 422,
    meaning: 'The template has never been published.',
    remedy: 'Publish it, then repeat the request.',
  },
  missing_template_variable: {
    status: 422,
    meaning: 'The template uses variables that the email has no values for. `errors` names each one.',
    remedy: 'Set them in `template.variables`, or declare them in the template with a `fallback_value`.',
  },
  rate_limit_exceeded: {
    status: 429,
    meaning: 'The account has made more requests within a minute than its plan allows. Nothing was done.',
    remedy: 'Wait for the number of seconds in Retry-After, then repeat the request.',
  },
  daily_quota_exceeded: {
    status: 429,
    meaning: 'The account or the domain may not mail so many recipients on one day (UTC). Nothing was accepted.',
    remedy: 'Wait for the number of seconds in Retry-After, or ask the operator for a higher quota. Read it at GET /api/account/quota.',
  },
  monthly_quota_exceeded: {
    status: 429,
    meaning: 'The account or the domain may not mail so many recipients in one month (UTC). Nothing was accepted.',
    remedy: 'Wait for the number of seconds in Retry-After, or ask the operator for a higher quota. Read it at GET /api/account/quota.',
  },
  internal_server_error: {
    status: 500,
    meaning: 'Something went wrong on our side.',
    remedy: 'Repeat the request later with the same Idempotency-Key. With the request id, the operator can find the cause in the log.',
  },
  damaged_data: {
    status: 500,
    meaning: 'What the request needs is damaged on the disk of the server. Nothing was changed; other data is not affected.',
    remedy: 'The operator must restore it. Until then the same request will fail again.',
  },
  service_unavailable: {
    status: 503,
    meaning: 'The server cannot handle the request at the moment. Nothing was accepted.',
    remedy: 'Wait for the number of seconds in Retry-After, then repeat the request.',
  },
  insufficient_storage: {
    status: 507,
    meaning: 'The disk of the server is full. Nothing was accepted.',
    remedy: 'Repeat the request later; the operator must free space.',
  },
  configuration: {
    status: 500,
    meaning: 'A setting of the server is wrong. Callers never see this error: they get internal_server_error.',
    remedy: 'The operator finds the details in the log.',
  },
} as const satisfies Record<string, { status: number; meaning: string; remedy: string }>

/** The errors that a caller can get. */
export const errorNames = (Object.keys(errorTable) as (keyof typeof errorTable)[]).filter((name) => name !== 'configuration')
