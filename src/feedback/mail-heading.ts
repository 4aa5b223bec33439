import { fieldsNamed, parseHeaderBlock, type HeaderField } from '../message/header-block.ts'
import { domainOf, parseMailboxList } from '../smtp/address.ts'
import { decodeHeaderText } from '../smtp/encoded-word.ts'

/** What is seen of a message without opening it. */
export interface MailHeading {
  /** Decoded, at most 200 characters each; empty where there is none. */
  from: string
  subject: string
  /** True where this server made it, or handed it on before, or more servers did than would without a circle. */
  isOwn: boolean
  /** The servers that have handed it on, as it says. */
  forwardedBy: string[]
  /** True where a program sent it without being asked, as far as it says so (RFC 3834 5), or its header cannot be read. */
  isAutomatic: boolean
}

/** The field that marks what servers, those of these names, have handed on, one after the other. */
export const forwardedField = 'X-Sterna-Forwarded'
/** Whose operator is the postmaster of another server is rare enough. */
const mostForwards = 3

/** Characters of a list of authors that are looked at: nobody needs more, and thousands of addresses take their time. */
const longestList = 5_000

/** @param hostname of this server */
export function readHeading(content: Uint8Array, hostname: string): MailHeading {
  const header = parseHeaderBlock(content)
  if (!header.ok) return { from: '', subject: '', isOwn: false, forwardedBy: [], isAutomatic: true }
  const { fields } = header
  const valueOf = (name: string): string => fieldsNamed(fields, name)[0]?.value ?? ''
  const forwardedBy = fieldsNamed(fields, forwardedField).flatMap(({ value }) => value.toLowerCase().match(/[a-z0-9.-]{1,253}/g) ?? [])
  return {
    from: shortened(valueOf('from')),
    subject: shortened(valueOf('subject')),
    isOwn: forwardedBy.length > mostForwards || forwardedBy.includes(hostname) || isFrom(fields, hostname),
    forwardedBy: forwardedBy.slice(0, mostForwards),
    isAutomatic: !/^(?:no\b.*)?$/i.test(valueOf('auto-submitted')),
  }
}

function isFrom(fields: HeaderField[], hostname: string): boolean {
  return ['from', 'sender'].some((name) =>
    fieldsNamed(fields, name)
      .slice(0, 2)
      .some(({ value }) => {
        const parsed = parseMailboxList(value.slice(0, longestList), 'lenient')
        return parsed.ok && parsed.mailboxes.some(({ address }) => domainOf(address) === hostname)
      }),
  )
}

const shortened = (value: string): string =>
  decodeHeaderText(value.slice(0, 2_000))
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .slice(0, 200)
