import type { BaseServices } from '../../platform/base-services.ts'
import { crc32 } from 'node:zlib'
import { SternaError } from '../../platform/errors.ts'
import { chunkSize, type Content } from '../../mail/message/content.ts'
import { isKept } from '../../mail/message/message-store.ts'
import type { Submission } from '../../mail/message/submission.ts'
import { ConflictError, type Database, type Statement, type Written } from '../../platform/store/database.ts'
import { removeInPieces } from '../../platform/store/remove-in-pieces.ts'
import type { FreeSpace } from './free-space.ts'

interface UploadServices extends Pick<BaseServices, 'db' | 'log'> {
  space: Pick<FreeSpace, 'require'>
  /** The name of this process. */
  owner: string
}

/** Chunks that one commit stores, so that no commit takes long. */
const chunksAtOnce = 4

interface Chunk {
  id: string
  number: number
  bytes: Uint8Array
}

/**
 * The contents of messages that are coming in. A message that is partly stored has a row in `upload`, written with its first chunk and
 * removed by the batch that creates the message. Content is removed only while that row exists, so an existing message can never lose
 * content.
 */
export class Uploads {
  readonly #services: UploadServices
  /** Those of which something may be stored. */
  readonly #open = new Set<Upload>()
  readonly #onBegun = (upload: Upload): void => void this.#open.add(upload)

  constructor(services: UploadServices) {
    this.#services = services
  }

  /** Runs `take` with an upload. However `take` ends, only completed messages stay. */
  async run<T>(take: (upload: Upload) => Promise<T>): Promise<T> {
    const upload = new Upload(this.#services, this.#onBegun)
    try {
      return await take(upload)
    } finally {
      if (this.#open.has(upload)) {
        await upload.abandon()
        this.#open.delete(upload)
      }
    }
  }

  /**
   * Removes what a crash left behind, and what could not be removed when it was abandoned; never what another process is taking in. Call it on
   * startup, and regularly.
   */
  async sweep(): Promise<void> {
    const { db, owner } = this.#services
    const left = await db.read<{ message_id: string }>(
      'select message_id from upload where owner is null or owner = :owner or owner not in (select name from node)',
      { owner },
    )
    const open = new Set([...this.#open].flatMap(({ messageIds }) => messageIds))
    for (const { message_id: id } of left) if (!open.has(id)) await dropContent(id, db)
  }
}

/** The content of one submission, or of a batch of them, from its first byte to the finished message. */
export class Upload {
  readonly #services: UploadServices
  readonly #onBegun: (upload: Upload) => void
  /** Contents that may be partly stored. */
  messageIds: string[] = []

  /** @param onBegun called before anything is stored ahead of the message */
  constructor(services: UploadServices, onBegun: (upload: Upload) => void) {
    this.#services = services
    this.#onBegun = onBegun
  }

  /**
   * Checks that there is room for what is not stored yet.
   * @throws StorageFullError
   */
  require(contents: Content[]): void {
    this.#services.space.require(contents.reduce((sum, { size, stored }) => sum + size - stored * chunkSize, 0))
  }

  /**
   * Stores chunks of a message that is still arriving, starting with number `first`; they are on disk when the promise resolves.
   * @throws StorageFullError
   */
  async store(id: string, first: number, chunks: Uint8Array[]): Promise<void> {
    this.#services.space.require(chunks.reduce((sum, { length }) => sum + length, 0))
    await this.#write(chunks.map((bytes, place) => ({ id, number: first + place, bytes })))
  }

  /** True if these contents do not fit into one commit, or are to be copied. */
  isLarge(submissions: Submission[]): boolean {
    return submissions.some(({ content }) => content.copyOf !== undefined) || pendingBytes(submissions) > chunksAtOnce * chunkSize
  }

  /**
   * Stores enough of these contents that the rest fits into one commit.
   * @throws SternaError `invalid_state` if a content to be copied is gone
   */
  async storeAhead(submissions: Submission[]): Promise<void> {
    let rest = pendingBytes(submissions)
    let ahead: Chunk[] = []
    for (const { id, content } of submissions) {
      if (content.copyOf !== undefined) await this.#copy(content.copyOf, id, content)
      while (rest > chunksAtOnce * chunkSize && content.pending.length > 0) {
        const bytes = content.pending.shift() as Uint8Array
        rest -= bytes.length
        if (bytesOf(ahead.map((chunk) => chunk.bytes)) + bytes.length > chunksAtOnce * chunkSize) await this.#write(ahead.splice(0))
        ahead.push({ id, number: content.stored++, bytes })
      }
    }
    if (ahead.length > 0) await this.#write(ahead)
  }

  /**
   * Writes the batch that creates the messages, and adds the rest of their contents to it: on disk together, or not at all. Returns what came of the
   * batch, statement by statement.
   * @throws what `Database.write` throws
   */
  async complete(submissions: Submission[], batch: Statement[]): Promise<Written[]> {
    for (const { id, content } of submissions) {
      if (this.messageIds.includes(id)) batch.push({ sql: 'delete from upload where message_id = :id', params: { id }, expect: 1 })
      let number = content.stored
      for (const bytes of content.pending) batch.push(insertChunk({ id, number: number++, bytes }))
    }
    const written = await this.#services.db.write(batch)
    this.messageIds = []
    return written
  }

  /** Removes what was stored of unfinished messages. Never rejects: what it cannot remove is swept later. */
  async abandon(): Promise<void> {
    const { db, log } = this.#services
    for (const messageId of this.messageIds) {
      await dropContent(messageId, db).catch((error: unknown) =>
        log.warn({ messageId, error }, 'chunks of a refused message are left for the next sweep'),
      )
    }
    this.messageIds = []
  }

  /** Inside the store, so that the content does not pass through this thread's memory. */
  async #copy(from: string, id: string, content: Content): Promise<void> {
    const chunks = Math.max(1, Math.ceil(content.size / chunkSize))
    try {
      while (content.stored < chunks) {
        const end = Math.min(content.stored + chunksAtOnce, chunks)
        await this.#services.db.write([...this.#begin([id]), copyChunks({ from, id }, { first: content.stored, end })])
        content.stored = end
      }
    } catch (error) {
      throw error instanceof ConflictError
        ? new SternaError('invalid_state', 'The content of this email is no longer kept, so it cannot be sent again.')
        : error
    }
  }

  async #write(chunks: Chunk[]): Promise<void> {
    await this.#services.db.write([...this.#begin(chunks.map(({ id }) => id)), ...chunks.map(insertChunk)])
  }

  /** The rows of those that have none yet. */
  #begin(ids: string[]): Statement[] {
    const begun = [...new Set(ids)].filter((id) => !this.messageIds.includes(id))
    this.messageIds.push(...begun)
    this.#onBegun(this)
    const { owner } = this.#services
    return begun.map((id) => ({ sql: 'insert into upload (message_id, owner) values (:id, :owner)', params: { id, owner } }))
  }
}

const bytesOf = (chunks: Uint8Array[]): number => chunks.reduce((sum, { length }) => sum + length, 0)

const pendingBytes = (submissions: Submission[]): number => submissions.reduce((sum, { content }) => sum + bytesOf(content.pending), 0)

const insertChunk = ({ id, number, bytes }: Chunk): Statement => ({
  sql: 'insert into content (message_id, chunk, bytes, crc32) values (:id, :number, :bytes, :crc32)',
  params: { id, number, bytes, crc32: crc32(bytes) },
})

const copyChunks = (messages: { from: string; id: string }, { first, end }: { first: number; end: number }): Statement => ({
  sql: `insert into content (message_id, chunk, bytes, crc32)
        select :id, chunk, bytes, crc32 from content where message_id = :from and chunk >= :first and chunk < :end and ${isKept}`,
  params: { ...messages, first, end },
  expect: end - first,
})

/** Removes the chunks of an unfinished message, then its row. */
async function dropContent(id: string, db: Database): Promise<void> {
  const chunks = `select c.chunk from upload u join content c on c.message_id = u.message_id where u.message_id = :id limit :rows`
  await removeInPieces(db, [{ sql: `delete from content where message_id = :id and chunk in (${chunks})`, params: { id } }])
  await db.write([{ sql: 'delete from upload where message_id = :id', params: { id } }], { mayBatch: true })
}
