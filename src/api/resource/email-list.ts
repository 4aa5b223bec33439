import { SternaError } from '../../platform/errors.ts'

/** The most emails in one request. */
export const maxEmails = 100

/**
 * The emails of a batch: a bare array, or `{emails: […]}`. Does not check the entries.
 * @throws SternaError `invalid_json`, `validation_error`
 */
export function emailsOf(value: unknown): unknown[] {
  const emails = Array.isArray(value) ? value : isObject(value) ? value.emails : undefined
  if (!Array.isArray(emails)) {
    // Some languages encode a list with gaps as an object, which surprises everybody.
    throw new SternaError('invalid_json', 'The request body must be a JSON array of emails, or {"emails": [...]} with such an array.')
  }
  if (emails.length === 0) throw wrongCount('too_few', 'The batch has no emails. Send 1 to 100.')
  if (emails.length > maxEmails) throw wrongCount('too_many', `The batch has ${emails.length} emails. Send 1 to ${maxEmails}.`)
  return emails
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const wrongCount = (code: string, message: string): SternaError =>
  new SternaError('validation_error', message, { faults: [{ field: 'emails', code, message, help: null }] })
