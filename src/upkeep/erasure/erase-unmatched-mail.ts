import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { removeContentOfMail } from './erase-message-parts.ts'
import { searched, writeChanges, type Erasing } from './erasing.ts'

/** bytes of returned mail searched at a time, and the overlap of two pieces */
const pieceSize = 65_536
const overlap = 1_024

/**
 * Deletes the content of stored returned mail that names the address, whatever the mail is about. It belongs to no account, so only the
 * operator can have it erased.
 */
export async function eraseUnmatchedMail(erasing: Erasing): Promise<void> {
  const { db, scope, forms } = erasing
  if (scope.accountId !== null) return
  const sql = 'select id from returned_mail_content where id > :after and id <= :upto'
  for await (const contents of searched<{ id: string }>(erasing, { table: 'returned_mail_content', key: 'id', start: '', sql })) {
    for (const { id } of contents) {
      const [content] = await db.slowRead<{ bytes: Uint8Array }>('select bytes from returned_mail_content where id = :id', { id })
      if (content && (await isNamedIn(content.bytes, forms.names))) await writeChanges(erasing, [removeContentOfMail(id)])
    }
  }
}

/** In pieces, because a large one would delay everybody else. */
async function isNamedIn(bytes: Uint8Array, names: (text: string) => boolean): Promise<boolean> {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let start = 0; start < whole.length; start += pieceSize) {
    if (names(whole.toString('utf8', start, start + pieceSize + overlap))) return true
    await yieldToEventLoop()
  }
  return false
}
