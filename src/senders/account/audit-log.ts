import type { Clock } from '../../platform/clock.ts'
import { idFloor, newId } from '../../platform/id.ts'
import type { Database, Row, Statement } from '../../platform/store/database.ts'
import { pageClause, type Page } from '../../platform/store/page-clause.ts'
import { removeInPieces } from '../../platform/store/remove-in-pieces.ts'

/** `server`: nobody; the server found something out by itself. */
export const actorTypes = ['key', 'user', 'command', 'server'] as const

/** Who makes a change. */
export interface Actor {
  type: (typeof actorTypes)[number]
  /** Null for the command line and the server itself. */
  id: string | null
  /** The name of the key, or the user's address. */
  name: string
}

/** Whoever runs a command, and where from. */
export const byCommand = { actor: { type: 'command', id: null, name: 'command line' }, address: null, requestId: null } as const

/** A change as the audit log records it. It never contains a value, let alone a secret. */
export interface Change {
  /** The actor's account; for a command, the account that it was about. */
  accountId: string | null
  actor: Actor
  /** The id of the operation, such as `api_keys.create`, the name of the command, or what the server found, such as `domains.failed`. */
  operation: string
  objectId: string | null
  /** The names of the fields that were given. */
  fields: readonly string[]
  /** The client's address; null for a command. */
  address: string | null
  requestId: string | null
}

export interface AuditRow extends Row {
  id: string
  account_id: string | null
  actor_type: Actor['type']
  actor_id: string | null
  actor_name: string
  operation: string
  object_id: string | null
  fields: string
  address: string | null
  request_id: string | null
  created_at: number
}

interface AuditFilter {
  accountId?: string | null
  /** The id of a key or a user, `command` or `server`. */
  actor?: string | null
  operation?: string | null
  requestId?: string | null
  /** Epoch, ms. */
  since?: number | null
  until?: number | null
}

/** Every change: who made it, and from where. */
export class AuditLog {
  readonly #db: Database
  readonly #clock: Clock

  constructor(services: { db: Database; clock: Clock }) {
    this.#db = services.db
    this.#clock = services.clock
  }

  /** On disk when the promise resolves. */
  async record(change: Change): Promise<void> {
    await this.#db.write([this.statementFor(change)])
  }

  /** Records a change in the same batch that makes it. */
  statementFor(change: Change): Statement {
    const now = this.#clock.now()
    return {
      sql: `insert into audit (id, account_id, actor_type, actor_id, actor_name, operation, object_id, fields, address, request_id, created_at)
            values (:id, :accountId, :actorType, :actorId, :actorName, :operation, :objectId, :fields, :address, :requestId, :now)`,
      params: {
        id: newId('aud', now),
        accountId: change.accountId,
        actorType: change.actor.type,
        actorId: change.actor.id,
        actorName: change.actor.name,
        operation: change.operation,
        objectId: change.objectId,
        fields: change.fields.join(','),
        address: change.address,
        requestId: change.requestId,
        now,
      },
    }
  }

  /** A page of the log plus one row, as `pageClause` expects. */
  page(filter: AuditFilter, page: Page): Promise<AuditRow[]> {
    const { condition, order, params } = pageClause(page)
    const { accountId = null, actor = null, operation = null, requestId = null, since = null, until = null } = filter
    const conditions = [
      condition,
      ...(accountId === null ? [] : ['account_id = :accountId']),
      ...(actor === null ? [] : [actor === 'command' || actor === 'server' ? 'actor_type = :actor' : 'actor_id = :actor']),
      ...(operation === null ? [] : ['operation = :operation']),
      ...(requestId === null ? [] : ['request_id = :requestId']),
      ...(since === null ? [] : ['id >= :since']),
      ...(until === null ? [] : ['id < :until']),
    ]
    return this.#db.slowRead<AuditRow>(
      `select id, account_id, actor_type, actor_id, actor_name, operation, object_id, fields, address, request_id, created_at
         from audit where ${conditions.join(' and ')} ${order}`,
      {
        ...params,
        accountId,
        actor,
        operation,
        requestId,
        since: since === null ? null : idFloor('aud', since),
        until: until === null ? null : idFloor('aud', until),
      },
    )
  }

  /** Deletes entries from before `cutoff` (epoch, ms). */
  async sweep(cutoff: number): Promise<void> {
    await removeInPieces(this.#db, [
      {
        sql: 'delete from audit where id in (select id from audit where id < :before order by id limit :rows offset :skip)',
        params: { before: idFloor('aud', cutoff) },
      },
    ])
  }
}
