import { SternaError } from '../../errors.ts'
import { kindOf } from './data-directory.ts'
import { migrations } from '../schema-steps.ts'
import { open } from './sqlite-connection.ts'

/** What is in a copy of the database. */
export interface CopyContent {
  schema: number
  accounts: number
  emails: number
  recipients: number
  events: number
}

/**
 * Checks a whole copy of the database that nobody else uses, and counts what is in it. It takes long: call it on a thread of its own.
 * @throws SternaError `invalid_state` if it is damaged, or not a database that this version can open
 */
export function examineCopy(file: string): CopyContent {
  const no = (why: string): SternaError => new SternaError('invalid_state', `The copy ${file} cannot be used: ${why}`)
  if (kindOf(file) !== 'database') throw no('it is not an SQLite database.')
  const connection = open(file, { readonly: true })
  try {
    const [fault] = connection.pragma('integrity_check(1)') as { integrity_check: string }[]
    if (fault?.integrity_check !== 'ok') throw no(`it is damaged: ${fault?.integrity_check}.`)
    const schema = connection.pragma('user_version', { simple: true }) as number
    if (schema === 0 || schema > (migrations().at(-1)?.version ?? 0)) throw no(`its schema has the number ${schema}.`)
    const count = (table: string): number => connection.prepare(`select count(*) from ${table}`).pluck().get() as number
    return { schema, accounts: count('account'), emails: count('message'), recipients: count('recipient'), events: count('event') }
  } finally {
    connection.close()
  }
}
