/**
 * Every error that callers can branch on, by its stable name: its HTTP status, when it happens, and what the caller can do
 * about it. SMTP replies are mapped from these names too. Where both are known, the message of an answer says more than
 * its entry here.
 */
export const errorTable = {
  invalid_json: {
    status: 400,
    meaning: 'The body is not valid JSON in UTF-8, is nested too deeply, or is not an object (or an array) where one is needed.',
    remedy: 'Send what a JSON library makes of your data. In some languages a list with gaps becomes an object: close the gaps.',
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
    meaning: 'There is no such API key: it is mistyped, or was revoked.',
    remedy: 'Look for missing or additional characters; make a new key where it was revoked. Do not repeat the request.',
  },
  expired_api_key: {
    status: 401,
    meaning: 'The API key was made for a limited time, which is over.',
    remedy: 'Make a new key.',
  },
  invalid_session: {
    status: 401,
    meaning: 'There is no such login: it has ended, or the token that it was exchanged for has expired after its 15 minutes.',
    remedy: 'Get a new token with POST /session/token. Where that is refused too, log in again.',
  },
  invalid_credentials: {
    status: 401,
    meaning: 'The email address, the password or the code is wrong. A code works once.',
    remedy: 'Check them; for a code, wait for the next one. Who has lost them asks an owner of the account for a new invitation.',
  },
  second_factor_required: {
    status: 401,
    meaning: 'The password is right, and a code is needed too.',
    remedy: 'Repeat the request with the code that the authenticator app shows, or with a recovery code, as `code`.',
  },
  restricted_api_key: {
    status: 403,
    meaning:
      'The API key may not do this: its permission does not reach so far, it is for another domain, or it is a sandbox key and this changes what is live.',
    remedy: 'Use a key as the message names it.',
  },
  foreign_origin: {
    status: 403,
    meaning: 'The request was made by a page of another web site.',
    remedy: 'Log in at the address that the setting base_url names, or that the page was loaded from.',
  },
  domain_not_verified: {
    status: 403,
    meaning: 'The domain of the From address is not verified for this account.',
    remedy: 'Add the domain, publish its DNS records and have it verified; then repeat the request.',
  },
  account_suspended: {
    status: 403,
    meaning: 'The account is suspended: nothing is sent for it.',
    remedy: 'Ask the operator of this server.',
  },
  not_found: {
    status: 404,
    meaning: 'There is nothing with this id, or nothing at this path. What belongs to another account does not exist for this one.',
    remedy: 'Check the id and the path, and that the key is one of the account, live or sandbox, that the object belongs to.',
  },
  method_not_allowed: {
    status: 405,
    meaning: 'The path exists, but not with this method.',
    remedy: 'Use one of the methods that the header Allow names.',
  },
  invalid_idempotent_request: {
    status: 409,
    meaning: 'The same Idempotency-Key was used for another request within the last 24 hours.',
    remedy: 'Use a new key for a new request. To repeat a request, repeat its body byte for byte.',
  },
  concurrent_idempotent_requests: {
    status: 409,
    meaning: 'A request with the same Idempotency-Key is still being worked on.',
    remedy: 'Wait as long as Retry-After says and repeat the request: you get the answer of the first.',
  },
  invalid_state: {
    status: 409,
    meaning: 'The object is in a state in which this cannot be done.',
    remedy: 'Read the object to see how it stands.',
  },
  domain_exists: {
    status: 409,
    meaning: 'The account has this domain already.',
    remedy: 'Use the one that is there.',
  },
  account_exists: {
    status: 409,
    meaning: 'There is an account with this name already.',
    remedy: 'Choose another name.',
  },
  user_exists: {
    status: 409,
    meaning: 'There is a user with this email address already, in this account or another.',
    remedy: 'Use another address, or change the user who is there.',
  },
  rotation_in_progress: {
    status: 409,
    meaning: 'The last rotation is not over: what it replaced is still valid for a while.',
    remedy: 'Wait until the overlap has ended, or send "force": true where what was replaced may end now.',
  },
  alias_taken: {
    status: 409,
    meaning: 'The account has another template with this alias.',
    remedy: 'Choose another alias, or take it away from the other template first.',
  },
  payload_too_large: {
    status: 413,
    meaning: 'The request, or the message that would be made of it, is too large.',
    remedy: 'Send less: smaller attachments, or links to them.',
  },
  unsupported_media_type: {
    status: 415,
    meaning: 'The body is of another type than this path takes, or compressed.',
    remedy: 'Send the Content-Type that the path takes, nearly everywhere application/json, and no Content-Encoding.',
  },
  unsupported_field: {
    status: 422,
    meaning: 'A field asks for something that this server does not do, or that its settings do not allow.',
    remedy: 'Leave the field out; the message says what can be used instead.',
  },
  validation_error: {
    status: 422,
    meaning: 'Some fields are not valid. `errors` has an entry for each.',
    remedy: 'Correct the fields named in `errors`.',
  },
  missing_required_field: {
    status: 422,
    meaning: 'A field that is needed is missing. `errors` names it.',
    remedy: 'Add the field.',
  },
  invalid_from_address: {
    status: 422,
    meaning: 'The From address is not exactly one valid address.',
    remedy: 'Send one address, such as "Acme <app@example.com>".',
  },
  invalid_parameter: {
    status: 422,
    meaning: 'A parameter of the query string is not valid, or given twice, or two exclude each other.',
    remedy: 'Correct the parameter that the message names.',
  },
  invalid_attachment: {
    status: 422,
    meaning: 'An attachment is not valid base64, or its name or type is not valid.',
    remedy: 'Encode the bytes of the file in base64, without a data: prefix and without line breaks.',
  },
  invalid_event_type: {
    status: 422,
    meaning: 'There is no event of this name.',
    remedy: 'Use the names that the message lists.',
  },
  invalid_message: {
    status: 422,
    meaning: 'The message cannot be sent as it is, for example for a header field that is not allowed.',
    remedy: 'Correct what the message of the answer names.',
  },
  too_many_recipients: {
    status: 422,
    meaning: 'The email has more recipients than one email may have.',
    remedy: 'Send several emails.',
  },
  template_not_found: {
    status: 422,
    meaning: 'The email names a template that this account does not have.',
    remedy: 'Give the id or the alias of one of its templates in `template.id`.',
  },
  template_not_published: {
    status: 422,
    meaning: 'The template was never published.',
    remedy: 'Publish it, then repeat the request.',
  },
  missing_template_variable: {
    status: 422,
    meaning: 'The template uses variables that the email gives no value for. `errors` names each.',
    remedy: 'Give them in `template.variables`, or declare them in the template with a `fallback_value`.',
  },
  rate_limit_exceeded: {
    status: 429,
    meaning: 'The account has made more requests within a minute than its plan allows. Nothing was done.',
    remedy: 'Wait as many seconds as Retry-After says and repeat the request.',
  },
  internal_server_error: {
    status: 500,
    meaning: 'Something went wrong on our side.',
    remedy: 'Repeat the request after a while, with the same Idempotency-Key. The request id leads the operator to the reason in the log.',
  },
  service_unavailable: {
    status: 503,
    meaning: 'The server cannot take this at the moment. Nothing was accepted.',
    remedy: 'Wait as many seconds as Retry-After says and repeat the request.',
  },
  insufficient_storage: {
    status: 507,
    meaning: 'The disk of the server is full. Nothing was accepted.',
    remedy: 'Repeat the request later; the operator must make room.',
  },
  configuration: {
    status: 500,
    meaning: 'A setting of the server is not right. Callers never get this one: it is internal_server_error to them.',
    remedy: 'The operator reads the log.',
  },
} as const satisfies Record<string, { status: number; meaning: string; remedy: string }>

/** The errors that a caller can meet. */
export const errorNames = (Object.keys(errorTable) as (keyof typeof errorTable)[]).filter((name) => name !== 'configuration')
