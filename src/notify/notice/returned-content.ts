import { formatDate, formatTextField } from '../../mail/message/format-field.ts'
import { requireTlsOf } from '../../mail/message/transfer-options.ts'
import { chunkSize } from '../../mail/message/content.ts'
import type { NoticeAction, NoticeOriginal } from './notice.ts'
import type { ToldRow } from './notice-store.ts'

/** What is stored about a message, which may have lost its content. */
type StoredOriginal = Pick<ToldRow, 'subject' | 'message_id_header' | 'size' | 'ret' | 'created_at' | 'transfer'>

/** bytes of the header to return */
const maxHeaderLength = 64 * 1024

/**
 * What to return of a message: all of it if requested, if it failed (RFC 3461 4.3), it is small, and it did not come with REQUIRETLS (RFC
 * 8689 5); else the header, which is rebuilt from other columns if the content was deleted.
 * @param firstChunk of the content; null if it was deleted
 */
export function returnedContent(stored: StoredOriginal, action: NoticeAction, firstChunk: Uint8Array | null): NoticeOriginal['returned'] {
  const mayReturnBody = requireTlsOf(stored.transfer) !== true
  const isWhole =
    mayReturnBody && stored.ret === 'full' && action === 'failed' && stored.size <= chunkSize && firstChunk?.length === stored.size
  if (firstChunk && isWhole) return { isWhole, bytes: Buffer.from(firstChunk) }
  return { isWhole: false, bytes: firstChunk ? headerOf(firstChunk) : headerFrom(stored) }
}

/** Without the empty line. A header that is too long is cut after its last whole line. */
function headerOf(content: Uint8Array): Uint8Array {
  const bytes = Buffer.from(content.subarray(0, maxHeaderLength))
  const end = bytes.indexOf('\r\n\r\n')
  return bytes.subarray(0, end === -1 ? bytes.lastIndexOf('\r\n') + 2 : end + 2)
}

function headerFrom({ subject, message_id_header: messageId, created_at: createdAt }: StoredOriginal): Uint8Array {
  const fields = [`Date: ${formatDate(createdAt)}`, `Message-ID: ${messageId}`, formatTextField('Subject', subject)]
  return Buffer.from(`${fields.join('\r\n')}\r\n`)
}
