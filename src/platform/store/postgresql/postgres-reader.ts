import { crc32 } from 'node:zlib'
import { setTimeout as pause } from 'node:timers/promises'
import { MetDamage } from '../met-damage.ts'
import type { Row } from '../database.ts'
import type { NumberedStatement } from '../thread-messages.ts'
import type { PostgresConnection } from './postgres-connection.ts'
import { isPassing } from './postgres-errors.ts'

interface PostgresReaderServices {
  open(): Promise<PostgresConnection>
  textOf(number: number): string
}

/** How long a read is tried before it fails, and the wait in between, ms. */
const patienceMs = 10_000
const waitMs = 100

/** Reads over one connection, which is opened when it is first needed, and again when it is lost. */
export class PostgresReader {
  readonly #services: PostgresReaderServices
  #connection: Promise<PostgresConnection> | undefined

  constructor(services: PostgresReaderServices) {
    this.#services = services
  }

  /** @throws what the server says last */
  async read([number, values]: NumberedStatement): Promise<Row[]> {
    const text = this.#services.textOf(number)
    for (const since = performance.now(); ; await pause(waitMs)) {
      try {
        const { rows } = await (await this.#connected()).run(text, values, number)
        for (const row of rows ?? []) requireIntact(row, text)
        return rows ?? []
      } catch (error) {
        if (!isPassing(error) || performance.now() - since > patienceMs) throw error
      }
    }
  }

  async close(): Promise<void> {
    await (await this.#connection?.catch(() => undefined))?.close()
  }

  async #connected(): Promise<PostgresConnection> {
    const held = this.#connection
    // Several reads wait here at a time: the first of them opens the next one for all.
    if (held && (await held).isLost && this.#connection === held) this.#connection = undefined
    this.#connection ??= this.#open()
    return this.#connection
  }

  #open(): Promise<PostgresConnection> {
    const opening = this.#services.open()
    opening.catch(() => {
      if (this.#connection === opening) this.#connection = undefined
    })
    return opening
  }
}

/** Only for rows that have a checksum. */
function requireIntact({ bytes, crc32: stored }: Row, sql: string): void {
  if (typeof stored !== 'number' || !(bytes instanceof Uint8Array)) return
  if (crc32(bytes) !== stored) throw new MetDamage(new Error('its checksum does not match'), sql)
}
