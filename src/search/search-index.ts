import { setTimeout as pause } from 'node:timers/promises'
import { noteBlocks, removeOldBlocks } from '../event/event-blocks.ts'
import type { Log } from '../log.ts'
import { beginPart, insertTerms, loggedTerms, removeEmptyParts, searchCursor, searchPosition } from '../message/search-terms.ts'
import { ConflictError, StorageFullError, type Database, type Statement } from '../store/database.ts'
import { firstRows, nextRows, removeInPieces } from '../store/remove-in-pieces.ts'

interface Pace {
  /** Events of the first step; how many those that follow have goes by how long the last one held the store. */
  firstEvents: number
  mostEvents: number
  /** Events after which a new part of search_term begins. A part of some megabytes is in the cache while it is written. */
  partSize: number
  /** How much longer than a step took it waits before the next one. A step takes the longer the more others have to write. */
  restFactor: number
}

const standardPace: Pace = { firstEvents: firstRows, mostEvents: 4_096, partSize: 65_536, restFactor: 3 }

/**
 * Fills what lists are searched by, from the event log. The cursor moves in the same batch as what was read is written, so after a
 * crash it goes on where it was; searches look through what is behind the cursor by themselves.
 */
export class SearchIndex {
  readonly #db: Database
  readonly #log: Log
  readonly #pace: Pace
  /** Of the next step. */
  #events: number
  #running: Promise<void> | undefined

  constructor({ db, log }: { db: Database; log: Log }, pace = standardPace) {
    this.#db = db
    this.#log = log
    this.#pace = pace
    this.#events = pace.firstEvents
  }

  /** Reads what was written since, without haste; to be called about once a minute. */
  async keepUp(): Promise<void> {
    this.#running ??= this.#readLog().finally(() => (this.#running = undefined))
    try {
      await this.#running
    } catch (error) {
      // A full disk is told of elsewhere, and the next call goes on where this one ended.
      if (!(error instanceof StorageFullError)) this.#log.error({ error }, 'the log could not be read for searches')
    }
  }

  async #readLog(): Promise<void> {
    for (;;) {
      const start = performance.now()
      const { position, behind } = await searchPosition(this.#db)
      if (behind <= 0) break
      await this.#step({ after: position, upTo: position + Math.min(behind, this.#events, this.#pace.mostEvents) })
      await pause((performance.now() - start) * this.#pace.restFactor, undefined, { ref: false })
    }
    await removeInPieces(this.#db, [removeOldBlocks])
    await this.#db.write([removeEmptyParts], { patient: true })
  }

  async #step(step: Step): Promise<void> {
    const begin = this.#beginsPart(step) ? [beginPart] : []
    const onHeld = (ms: number): void => void (this.#events = nextRows(this.#events, ms))
    try {
      await this.#db.write([createCursor, moveCursor(step), ...begin, insertTerms(loggedTerms, { ...step }), noteBlocks(step)], {
        patient: true,
        onHeld,
      })
    } catch (error) {
      // Somebody else has read these.
      if (!(error instanceof ConflictError)) throw error
    }
  }

  #beginsPart({ after, upTo }: Step): boolean {
    return Math.floor(after / this.#pace.partSize) < Math.floor(upTo / this.#pace.partSize)
  }
}

/** Events behind `after` up to `upTo`, places in the log. */
interface Step {
  after: number
  upTo: number
}

const createCursor: Statement = {
  sql: `insert into cursor (name, position) values ('${searchCursor}', 0) on conflict (name) do nothing`,
}

const moveCursor = ({ after, upTo }: Step): Statement => ({
  sql: `update cursor set position = :upTo where name = '${searchCursor}' and position = :after`,
  params: { after, upTo },
  expect: 1,
})
