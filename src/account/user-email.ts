import { SternaError } from '../errors.ts'
import { parseAddress } from '../smtp/address.ts'

/**
 * The one form of an email address that users are known by: lower case, its domain in A-labels. The standard lets the
 * part before the @ tell cases apart; no mailbox that a person logs in with does.
 */
export function userEmail(text: string): string {
  const parsed = parseAddress(text)
  return (parsed.ok ? parsed.address : text).normalize('NFC').toLowerCase()
}

/**
 * The same of an address that somebody is to be known by from now on.
 * @throws SternaError `validation_error`
 */
export function checkedUserEmail(text: string): string {
  const parsed = parseAddress(text)
  if (parsed.ok) return userEmail(text)
  const message = `The \`email\` field is not a valid email address. ${parsed.fault}`
  throw new SternaError('validation_error', message, { faults: [{ field: 'email', code: 'invalid_email', message, help: null }] })
}
