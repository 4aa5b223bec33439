import { SternaError } from '../../errors.ts'

/** Emails of one request. */
export const mostEmails = 100

/**
 * The emails of a batch: a bare array, or `{emails: […]}`. What they are is not looked at.
 * @throws SternaError `invalid_json`, `validation_error`
 */
export function emailsOf(value: unknown): unknown[] {
  const emails = Array.isArray(value) ? value : isObject(value) ? value.emails : undefined
  if (!Array.isArray(emails)) {
    // Some languages encode a list with gaps as an object, to everybody's surprise.
    throw new SternaError(
      'invalid_json',
      'The request body must be a JSON array of emails, or {"emails": [...]} with such an array; it is neither.',
    )
  }
  if (emails.length === 0) throw wrongCount('too_few', 'The batch has no emails: give 1 to 100.')
  if (emails.length > mostEmails) throw wrongCount('too_many', `The batch has ${emails.length} emails: give 1 to ${mostEmails}.`)
  return emails
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const wrongCount = (code: string, message: string): SternaError =>
  new SternaError('validation_error', message, { faults: [{ field: 'emails', code, message, help: null }] })
