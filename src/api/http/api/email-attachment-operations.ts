import { SternaError } from '../../../platform/errors.ts'
import type { MessageParser, ParsedAttachment } from '../../../mail/message/message-parser.ts'
import type { MessageReader } from '../../../mail/message/message-reader.ts'
import type { MessageRow } from '../../../mail/message/message-store.ts'
import type { CallTo } from '../../operation/call.ts'
import { downloadOfStranger } from '../../operation/raw-answer.ts'
import { operation, type Operation } from '../../operation/operation.ts'
import { listOf } from '../../operation/page.ts'
import { findMessage } from './email-reading-operations.ts'
import { attachmentAnswer } from './email-resource.ts'

export interface EmailAttachmentServices {
  messages: MessageReader
  messageParser: MessageParser
  /** The public URL of this server, without a trailing slash. */
  baseUrl: string
}

/** The files attached to an email, read from the stored message in the parser's process. */
export const emailAttachmentOperations = (services: EmailAttachmentServices): Operation[] => [
  operation({
    id: 'emails.list_attachments',
    method: 'GET',
    path: '/api/emails/{id}/attachments',
    tag: 'Emails',
    summary: 'List the attachments of an email',
    description: 'All of them, in the order of the message; none once the content is no longer kept.',
    permission: 'read_access',
    answers: [{ status: 200, description: 'The attachments.', schema: listOf(attachmentAnswer) }],
    refuses: ['invalid_message'],
    handle: async (call) => {
      const message = await findMessage(call, services.messages)
      const attachments = await attachmentsOf(message, services)
      return {
        object: 'list' as const,
        has_more: false,
        data: attachments.map((attachment, place) => attachmentObject(attachment, { message, place }, services)),
      }
    },
  }),
  operation({
    id: 'emails.get_attachment',
    method: 'GET',
    path: '/api/emails/{id}/attachments/{attachment_id}',
    tag: 'Emails',
    summary: 'Read the metadata of an attachment',
    permission: 'read_access',
    answers: [{ status: 200, description: 'The attachment without its content.', schema: attachmentAnswer }],
    refuses: ['invalid_message'],
    handle: async (call) => {
      const message = await findMessage(call, services.messages)
      const place = placeOf(call)
      const attachment = (await attachmentsOf(message, services))[place]
      if (!attachment) throw noAttachment()
      return attachmentObject(attachment, { message, place }, services)
    },
  }),
  operation({
    id: 'emails.download_attachment',
    method: 'GET',
    path: '/api/emails/{id}/attachments/{attachment_id}/content',
    tag: 'Emails',
    summary: 'Download an attachment',
    permission: 'read_access',
    answers: [
      {
        status: 200,
        description: 'The content, as a download.',
        schema: null,
        mediaType: 'application/octet-stream',
      },
    ],
    refuses: ['invalid_message'],
    handle: async (call) => {
      const { id } = await findMessage(call, services.messages)
      const place = placeOf(call)
      const load = () => services.messages.content(id)
      const parsed = await services.messageParser.parse(load)
      const pieces = parsed?.attachments[place] ? await services.messageParser.attachment(load, place) : null
      if (pieces === null) throw noAttachment()
      const filename = parsed?.attachments[place]?.filename ?? 'attachment'
      return downloadOfStranger(call.reply, Buffer.concat(pieces), { type: 'application/octet-stream', filename })
    },
  }),
]

async function attachmentsOf({ id }: MessageRow, { messages, messageParser }: EmailAttachmentServices): Promise<ParsedAttachment[]> {
  return (await messageParser.parse(() => messages.content(id)))?.attachments ?? []
}

const attachmentObject = (
  attachment: ParsedAttachment,
  { message, place }: { message: MessageRow; place: number },
  { baseUrl }: EmailAttachmentServices,
) => ({
  object: 'attachment' as const,
  id: String(place + 1),
  filename: attachment.filename,
  content_type: attachment.contentType,
  content_disposition: attachment.disposition,
  content_id: attachment.contentId,
  size: attachment.size,
  download_url: `${baseUrl}/api/emails/${message.id}/attachments/${place + 1}/content`,
})

/** Attachments are identified by position, from 1: a stored message does not change. */
function placeOf(call: CallTo<'attachment_id'>): number {
  const id = call.params.attachment_id
  if (!/^[1-9]\d{0,3}$/.test(id)) throw noAttachment()
  return Number(id) - 1
}

const noAttachment = (): SternaError => new SternaError('not_found', 'This email has no such attachment, or its content is no longer kept.')
