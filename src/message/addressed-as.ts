import type { Completed } from './complete.ts'
import type { SubmittedRecipient } from './submission.ts'

/** Tells how the header addresses a recipient of the envelope, who gets the message whatever it says. */
export function addressedAs(
  header: Pick<Completed, 'headerToAddresses' | 'headerCcAddresses'>,
): (address: string) => SubmittedRecipient['type'] {
  const to = new Set(header.headerToAddresses.map((address) => address.toLowerCase()))
  const cc = new Set(header.headerCcAddresses.map((address) => address.toLowerCase()))
  return (address) => {
    const lower = address.toLowerCase()
    return to.has(lower) ? 'to' : cc.has(lower) ? 'cc' : 'bcc'
  }
}
