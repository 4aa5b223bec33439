import { fieldNamed, fieldsNamed, maxHeaderBytes, parseHeaderBlock, type HeaderField } from '../../mail/message/header-block.ts'
import { domainOf } from '../../platform/smtp/address.ts'
import { parseMailboxList } from '../../platform/smtp/mailbox.ts'
import { decodeHeaderText } from '../../platform/smtp/encoded-word.ts'

/** What a message's header shows. */
export interface MailHeading {
  /** Decoded, at most 200 characters each; empty if the field is missing. */
  from: string
  subject: string
  /** True if this server wrote or already forwarded the message, or if too many servers have forwarded it, which means a loop. */
  isOwn: boolean
  /** The servers that forwarded it, according to the message. */
  forwardedBy: string[]
  /** True if a program sent it unasked and says so (RFC 3834 5), or if its header is unreadable. */
  isAutomatic: boolean
}

/** Lists the hostnames of the servers that forwarded the message, in order. */
export const forwardedField = 'X-Sterna-Forwarded'
/** Few operators have another Sterna server's postmaster address as their own. */
const maxForwards = 3

/** Characters of an author list that we parse. Thousands of addresses would take too long. */
const maxListLength = 5_000

/** @param hostname of this server */
export function readHeading(content: Uint8Array, hostname: string): MailHeading {
  const asItCame = parseHeaderBlock(content)
  const header = asItCame.ok ? asItCame : parseHeaderBlock(withCrlf(content))
  if (!header.ok) return { from: '', subject: '', isOwn: false, forwardedBy: [], isAutomatic: true }
  const { fields } = header
  const valueOf = (key: string): string => fieldNamed(fields, key)?.value ?? ''
  const forwardedBy = fieldsNamed(fields, forwardedField.toLowerCase()).flatMap(
    ({ value }) => value.toLowerCase().match(/[a-z0-9.-]{1,253}/g) ?? [],
  )
  return {
    from: shortened(valueOf('from')),
    subject: shortened(valueOf('subject')),
    isOwn: forwardedBy.length > maxForwards || forwardedBy.includes(hostname) || isFrom(fields, hostname),
    forwardedBy: forwardedBy.slice(0, maxForwards),
    isAutomatic: !/^(?:no\b.*)?$/i.test(valueOf('auto-submitted')),
  }
}

/** The beginning with CRLF at the end of each line, and without NUL: the return path takes mail as it comes. */
const withCrlf = (content: Uint8Array): Buffer => {
  const text = Buffer.from(content.subarray(0, maxHeaderBytes)).toString('latin1')
  return Buffer.from(text.replaceAll('\0', '').replace(/\r{0,8}\n|\r/g, '\r\n'), 'latin1')
}

function isFrom(fields: HeaderField[], hostname: string): boolean {
  return ['from', 'sender'].some((name) =>
    fieldsNamed(fields, name)
      .slice(0, 2)
      .some(({ value }) => {
        const parsed = parseMailboxList(value.slice(0, maxListLength), 'lenient')
        return parsed.ok && parsed.mailboxes.some(({ address }) => domainOf(address) === hostname)
      }),
  )
}

const shortened = (value: string): string =>
  decodeHeaderText(value.slice(0, 2_000))
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .slice(0, 200)
