import { messageOf } from '../errors.ts'
import type { Damage } from './database.ts'

/** A statement needs what cannot be read. Unlike a failed write, that says nothing about what other statements have done. */
export class MetDamage extends Error {
  readonly damage: Omit<Damage, 'statement'>

  constructor(cause: unknown, sql: string) {
    super(messageOf(cause))
    this.damage = damageMetBy(sql)
  }
}

/** What a statement says about the damage that it meets. */
function damageMetBy(sql: string): MetDamage['damage'] {
  const named = Array.from(sql.matchAll(/\b(?:from|join|into|update)\s+(?!set\b)([a-z_]+)/gi), ([, table]) => table as string)
  const tables = [...new Set(named)]
  // One that also reads may have met the damage in what it reads.
  return { tables, keepsOut: tables.length === 1 && /^\s*insert\b/i.test(sql) }
}
