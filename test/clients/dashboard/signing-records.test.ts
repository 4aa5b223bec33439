import { expect, test } from 'vitest'
import type { DomainRecord } from '../../../src/clients/dashboard/api/types.ts'
import { signingRecords } from '../../../src/clients/dashboard/signing-records.ts'

const record = (name: string, key: DomainRecord['key'], status: DomainRecord['status']) => ({ name, key, status }) as DomainRecord

test.each([
  ['those whose records were found', ['verified', 'pending'], ['rsa']],
  ['all in use where none was looked for, as of a domain verified by hand', ['not_started', 'not_started'], ['rsa', 'ed25519']],
] as const)('the keys that sign are %s', (_, [rsa, ed25519], names) => {
  const records = [record('spf', null, 'verified'), record('rsa', 'active', rsa as never), record('ed25519', 'active', ed25519 as never)]
  const old = record('old', 'retired', 'verified')
  expect(signingRecords([...records, old]).map(({ name }) => name)).toEqual(names)
})
