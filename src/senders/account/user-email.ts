import { SternaError } from '../../platform/errors.ts'
import { parseAddress } from '../../platform/smtp/address.ts'

/**
 * The canonical form of a user's email address: lower case, with the domain in A-labels. The standard makes the local part
 * case-sensitive, but no mailbox that people log in with is.
 */
export function userEmail(text: string): string {
  const parsed = parseAddress(text)
  return (parsed.ok ? parsed.address : text).normalize('NFC').toLowerCase()
}

/**
 * The same for an address that a user will have from now on.
 * @throws SternaError `validation_error`
 */
export function checkedUserEmail(text: string): string {
  const parsed = parseAddress(text)
  if (parsed.ok) return userEmail(text)
  const message = `The \`email\` field is not a valid email address. ${parsed.fault}`
  throw new SternaError('validation_error', message, { faults: [{ field: 'email', code: 'invalid_email', message, help: null }] })
}
