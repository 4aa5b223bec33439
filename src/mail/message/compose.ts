import { isAscii } from 'node:buffer'
import { SternaError } from '../../platform/errors.ts'
import { displayNameFault } from '../../platform/smtp/mailbox.ts'
import { checkHeaders, headerTextFault } from './check-headers.ts'
import { composeFull, type OutgoingAttachment } from './compose-full.ts'
import { composeHeader } from './compose-header.ts'
import { composePlain } from './compose-plain.ts'
import type { Envelope } from './envelope.ts'
import type { HeaderInput, HeaderSummary } from './header-summary.ts'
import { textFromHtml } from './text-from-html.ts'

/** An email as a caller of the HTTP API describes it. */
export interface OutgoingEmail extends HeaderInput {
  html: string | null
  /** undefined or null: derived from the html; '': no text part if there is html. */
  text: string | null | undefined
  headers: Record<string, string>
  attachments: OutgoingAttachment[]
}

interface Composed {
  /** The whole message: CRLF line ends, no bare CR or LF. */
  content: Buffer
  header: HeaderSummary
  bodyType: Envelope['bodyType']
  /** True if an address in the header needs SMTPUTF8 (RFC 6532). */
  smtputf8: boolean
}

const mediaType =
  /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?: ?; ?[\w!#$&^.+-]{1,60}=(?:[\w!#$&^.+%'*-]{1,200}|"[\x20!#-[\]-~]{0,200}"))*$/

/** Why this attachment cannot be sent; null if it can. */
export function attachmentFault({ filename, contentType, contentId }: OutgoingAttachment): string | null {
  const nameFault = headerTextFault(filename)
  if (nameFault !== null) return `The file name is invalid. ${nameFault}`
  if (filename === '' || filename.length > 255) return 'A file name must have 1 to 255 characters.'
  if (contentType !== null && !mediaType.test(contentType)) return 'The content type must have the form type/subtype; name=value.'
  if (contentId !== null && !/^[\w.!#$%&'*+/=?^`{|}~@-]{1,200}$/.test(contentId)) {
    return 'A content_id must have 1 to 200 characters of A-Z, a-z, 0-9 and . _ - @ +, without angle brackets.'
  }
  return null
}

function check(email: OutgoingEmail): void {
  const faults = checkHeaders(email.headers)
  if (faults[0]) throw new SternaError('validation_error', faults[0].message, { faults })
  const subjectFault = headerTextFault(email.subject)
  if (subjectFault !== null) throw new SternaError('validation_error', `The subject is invalid. ${subjectFault}`)
  if (email.replyTo.length > 0 && Object.keys(email.headers).some((name) => name.toLowerCase() === 'reply-to')) {
    throw new SternaError('validation_error', 'Reply-To is given twice: leave it out of headers, or leave out reply_to.')
  }
  for (const { name } of [email.from, ...email.to, ...email.cc, ...email.replyTo]) {
    const fault = name === null ? null : displayNameFault(name)
    if (fault !== null) throw new SternaError('validation_error', fault)
  }
  for (const attachment of email.attachments) {
    const fault = attachmentFault(attachment)
    if (fault !== null) throw new SternaError('invalid_attachment', fault)
  }
}

function textOf({ text, html }: OutgoingEmail): string | null {
  if (text !== undefined && text !== null) return text === '' && html !== null ? null : text
  if (html === null) return null
  const made = textFromHtml(html)
  return made === '' ? null : made
}

/**
 * Composes an email. MailComposer is used only for attachments, because it costs ten times as much as the rest of a
 * request. Addresses must come from `parseAddress`.
 * @throws SternaError `validation_error`, `invalid_attachment` if a header or an attachment could inject other fields or parts
 */
export async function compose(email: OutgoingEmail, parts: { now: number }): Promise<Composed> {
  check(email)
  const header = composeHeader(email, parts)
  const body = { html: email.html, text: textOf(email) }
  const { attachments } = email
  const content = attachments.length === 0 ? composePlain(header, body) : await composeFull(header, { ...body, attachments })
  const smtputf8 = !isAscii(Buffer.from(header.text))
  // Of the parts, only an attached message may have bytes above 127.
  return { content, header: header.summary, bodyType: isAscii(content) ? '7bit' : '8bitmime', smtputf8 }
}
