import type { ReportService } from '../../platform/config/report-services.ts'
import { asTagName } from './send-limits.ts'

/** Header fields that a message gets on its way out. */
export interface AddedField {
  /** Whole fields, each with its CRLF; ASCII. */
  text: string
  /** Names in lower case: the fields are not added if the message has one of these. */
  unless: string[]
}

/** Identifies the recipient of a complaint even if the addresses in it were redacted. `reference`: a token. */
export const traceFieldOf = (reference: string): string => `X-Sterna-Ref: ${reference}\r\n`

/** The same for a service that reports on mail, where it returns only what a field of its own brings; it takes that out of the message. */
export function referenceFieldOf(service: ReportService, reference: string): string {
  switch (service) {
    case 'ses':
      return ''
    case 'postmark':
      return `X-PM-Metadata-sterna-ref: ${reference}\r\n`
    case 'mailgun':
      return `X-Mailgun-Variables: {"sterna-ref": "${reference}"}\r\n`
    case 'sendgrid':
      return `X-SMTPAPI: {"unique_args": {"sterna_ref": "${reference}"}}\r\n`
  }
}

/** Of what `traceFieldOf` and `referenceFieldOf` gave, the first alone: the other is only for the service. */
export const withoutReferenceField = (fields: string): string => fields.slice(0, fields.indexOf('\r\n') + 2)

/**
 * By what Gmail's Postmaster Tools tell complaints apart: the tag where there is one, the domain, the account by a name that
 * says nothing, and last who sends. Colons part them, so the tag is made a name; one without letters and digits would be none. A sender's
 * own stays; so does the header of a message that came signed, whose signature may forbid another.
 */
export function feedbackId({
  tag,
  domain,
  account,
  sender,
}: {
  tag: string | null
  domain: string
  account: string
  sender: string
}): AddedField {
  const name = tag === null ? null : asTagName(tag)
  const named = name === null ? [] : [name]
  return { text: `Feedback-ID: ${[...named, domain, account, sender].join(':')}\r\n`, unless: ['feedback-id', 'dkim-signature'] }
}

/**
 * How to unsubscribe (RFC 2369), with one click if the URL uses https (RFC 8058 3.1). A sender's own fields stay.
 * @param ways.mailbox an address that accepts any mail as a request
 */
export function listUnsubscribe({ url, mailbox }: { url: string; mailbox: string }): AddedField {
  const oneClick = url.startsWith('https:') ? 'List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n' : ''
  return {
    text: `List-Unsubscribe: <${url}>,\r\n <mailto:${mailbox}?subject=unsubscribe>\r\n${oneClick}`,
    unless: ['list-unsubscribe'],
  }
}
