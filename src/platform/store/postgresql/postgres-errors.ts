import { SternaError, messageOf } from '../../errors.ts'
import { codeOf } from '../../durable-file.ts'
import { reasonOf } from '../../plain-reason.ts'
import { MetDamage } from '../met-damage.ts'
import type { ThreadError } from '../thread-messages.ts'
import type { PostgresPlace } from './postgres-url.ts'

/** The connection has ended before the answer: what was asked may have been done. */
export class LostConnection extends Error {
  constructor(cause: unknown) {
    super(`the connection to the database was lost: ${messageOf(cause)}`, { cause })
    this.name = 'LostConnection'
  }
}

/** A statement changed another number of rows than it had to. */
export class Unmet extends Error {}

/** This node, whose name is the message, was taken for dead: another has its mail in hand, and it may write nothing more. */
export class Fenced extends Error {}

/** The server prepared a statement for the connection before a newer version added a column to what it returns, and refuses it from then on. */
const isOutdated = (error: unknown): boolean =>
  codeOf(error) === '0A000' && (error as { routine?: string }).routine === 'RevalidateCachedQuery'

/** True if the connection has ended, or is of no use any more: on a replica it takes no writes. */
export const isLost = (error: unknown): boolean =>
  error instanceof LostConnection ||
  isOutdated(error) ||
  (error as { severity?: string } | null)?.severity === 'FATAL' ||
  /^(?:08|57P|25006$)/.test(codeOf(error)) ||
  /^E(?:AI_)?[A-Z]+$/.test(codeOf(error)) ||
  /^Connection terminated|not queryable|^timeout expired$/.test(messageOf(error))

/** Somebody else was in the way, or the server is short of something for a moment: the same may work when it is tried again. */
export const isPassing = (error: unknown): boolean => isLost(error) || /^(?:40001|40P01|55P03|57014|53300)$/.test(codeOf(error))

/** Somebody else holds a row that a statement needs. */
export const isBlocked = (error: unknown): boolean => /^(?:40P01|55P03)$/.test(codeOf(error))

/** What callers are told of a statement that failed for good. */
export function threadErrorOf(error: unknown, statement: number): ThreadError {
  const code = codeOf(error)
  const of = (kind: ThreadError['kind']): ThreadError => ({ kind, message: messageOf(error), statement })
  if (error instanceof Unmet) return of('conflict')
  if (error instanceof Fenced) return of('buried')
  if (error instanceof MetDamage) return { ...of('damaged'), damage: error.damage }
  if (error instanceof SternaError && error.code === 'configuration') return of('configuration')
  if (code === '23505') return of('unique')
  if (code === '53100') return of('full')
  if (isPassing(error)) return of('unavailable')
  return of('other')
}

/** Why a database cannot be opened, and what to do. @throws never */
export function openErrorOf(error: unknown, { shown, user, database }: PostgresPlace): SternaError {
  if (error instanceof SternaError) return error
  const code = codeOf(error)
  const cannot = (why: string, then: string): SternaError =>
    new SternaError('configuration', `PostgreSQL, ${shown}, cannot be used: ${why}. ${then}`, { cause: error })
  if (code === '28P01' || code === '28000') {
    return cannot(
      `it does not let the user ${user} in (${messageOf(error)})`,
      'Check the user and the password in store.url, and pg_hba.conf of the server.',
    )
  }
  if (code === '3D000')
    return cannot('there is no such database', `Create it: create database "${database}" encoding 'UTF8' template template0.`)
  if (code === '42501') return cannot(messageOf(error), `Make the user ${user} the owner of the database.`)
  if (code === '53300') return cannot('it has no connection left', 'Raise its max_connections: each node takes three.')
  if (code === '42P07') return cannot(`${messageOf(error)}, and it is not of Sterna`, 'Give Sterna a database of its own.')
  if (/SSL|certificate|self.signed|ERR_TLS|CERT/i.test(`${code} ${messageOf(error)}`)) {
    return cannot(
      `TLS fails: ${reasonOf(error)}`,
      'Check sslmode and sslrootcert in store.url: with verify-full the certificate must have the name of the host.',
    )
  }
  if (code === '') return cannot(messageOf(error), 'Check store.url, and whether the server runs.')
  if (isLost(error)) return cannot(reasonOf(error), 'Check store.url, that the server runs, and that no firewall is in between.')
  return cannot(`${messageOf(error)} (${code})`, 'The log of the server may say more.')
}
