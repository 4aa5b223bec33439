import { SternaError } from '../../platform/errors.ts'
import type { ParsedAttachment } from '../../mail/message/message-parser.ts'
import type { MessageRow } from '../../mail/message/message-store.ts'
import type { CallTo } from '../operation/call.ts'
import { downloadOfStranger } from '../operation/raw-answer.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { listOf, wholeList } from '../operation/page.ts'
import { findMessage } from './email-reading-operations.ts'
import { attachmentResource } from './email-resource.ts'
import type { Needs } from './operation-services.ts'

type Services = Needs<'messages' | 'messageParser' | 'baseUrl'>

const at = operationsAt({ path: '/api/emails', tag: 'Emails', permission: 'read_access' })

/** The files attached to an email, read from the stored message in the parser's process. */
export const emailAttachmentOperations = (services: Services): Operation[] => [
  at.get('emails.list_attachments', '/{id}/attachments', 'List the attachments of an email', {
    description: 'All of them, in the order of the message; none once the content is no longer kept.',
    answer: ['The attachments.', listOf(attachmentResource.schema)],
    refuses: ['invalid_message'],
    handle: async (call) => {
      const message = await findMessage(call, services.messages)
      const attachments = await attachmentsOf(message, services)
      return wholeList(attachments.map((attachment, place) => attachmentObject(attachment, { message, place }, services)))
    },
  }),
  at.get('emails.get_attachment', '/{id}/attachments/{attachment_id}', 'Read the metadata of an attachment', {
    answer: ['The attachment without its content.', attachmentResource.schema],
    refuses: ['invalid_message'],
    handle: async (call) => {
      const message = await findMessage(call, services.messages)
      const place = placeOf(call)
      const attachment = (await attachmentsOf(message, services))[place]
      if (!attachment) throw noAttachment()
      return attachmentObject(attachment, { message, place }, services)
    },
  }),
  at.get('emails.download_attachment', '/{id}/attachments/{attachment_id}/content', 'Download an attachment', {
    answer: ['The content, as a download.', 'application/octet-stream'],
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

async function attachmentsOf({ id }: MessageRow, { messages, messageParser }: Services): Promise<ParsedAttachment[]> {
  return (await messageParser.parse(() => messages.content(id)))?.attachments ?? []
}

const attachmentObject = (
  attachment: ParsedAttachment,
  { message, place }: { message: MessageRow; place: number },
  { baseUrl }: Services,
) =>
  attachmentResource.answer({
    ...attachment,
    place,
    downloadUrl: `${baseUrl}/api/emails/${message.id}/attachments/${place + 1}/content`,
  })

function placeOf(call: CallTo<'attachment_id'>): number {
  const id = call.params.attachment_id
  if (!/^[1-9]\d{0,3}$/.test(id)) throw noAttachment()
  return Number(id) - 1
}

const noAttachment = (): SternaError => new SternaError('not_found', 'This email has no such attachment, or its content is no longer kept.')
