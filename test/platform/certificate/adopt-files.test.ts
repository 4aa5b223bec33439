import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { AcmeState } from '../../../src/platform/certificate/acme-state.ts'
import { adoptFiles } from '../../../src/platform/certificate/adopt-files.ts'
import { certificateRows } from '../../../src/platform/certificate/certificate-rows.ts'
import { IssuedCertificates } from '../../../src/platform/certificate/issued-certificates.ts'
import { certificateServices } from '../../support/certificate-services.ts'
import { testDirectory } from '../../support/temporary-directory.ts'
import { testCertificate } from '../../support/test-certificates.ts'

const authority = 'ca.example'
const account = { directory: 'https://ca.example/', url: 'https://ca.example/1', key: 'key', madeAt: 1 }

/** The files of an earlier version, with certificates for these names at each authority. */
async function filesOf(...names: string[]) {
  const directory = testDirectory()
  for (const each of [authority, 'old-ca.example']) {
    mkdirSync(join(directory, each))
    writeFileSync(join(directory, each, 'account.json'), JSON.stringify(account))
    writeFileSync(join(directory, each, 'attempts.json'), '{}')
    for (const name of names) {
      const { cert, key } = await testCertificate([name])
      writeFileSync(join(directory, each, `${name}.pem`), `${cert}\n${key}`)
    }
  }
  return directory
}

/** A start over a database: a new one unless given. */
async function start(
  directory: string,
  { services, days = 0 }: { services?: Awaited<ReturnType<typeof certificateServices>>; days?: number } = {},
) {
  const used = services ?? (await certificateServices())
  const state = new AcmeState(used, authority)
  await adoptFiles({ ...used, now: Date.now() + days * 86_400_000 }, state, directory)
  const names = (await certificateRows(used.db, { authority })).map(({ name }) => name)
  return { services: used, names, account: await state.account() }
}

test('a database from before the upgrade, restored, has all it had: nothing is ordered anew', async () => {
  const directory = await filesOf('mail.example', 'web.example')
  const first = await start(directory)
  expect(first).toMatchObject({ names: ['mail.example', 'web.example'], account })
  // A second start finds them known, and an earlier version finds its files.
  await start(directory, { services: first.services })
  expect(readdirSync(join(directory, authority))).toHaveLength(4)
  expect(await start(directory)).toMatchObject({ names: ['mail.example', 'web.example'], account })
})

test('a file goes when its certificate was renewed, and the account with the last one', async () => {
  const directory = await filesOf('mail.example', 'web.example')
  const { services } = await start(directory)
  const issued = new IssuedCertificates(services, authority)
  const renew = async (name: string) => {
    const { cert, key } = await testCertificate([name])
    await issued.keep(name, { chain: cert, key }, Date.now())
    return start(directory, { services })
  }
  await renew('web.example')
  expect(readdirSync(join(directory, authority)).toSorted()).toEqual(['account.json', 'attempts.json', 'mail.example.pem'])
  expect((await renew('mail.example')).names).toEqual(['mail.example', 'web.example'])
  expect(existsSync(join(directory, authority))).toBe(false)
})

test('what has expired goes and is not taken over; what cannot be read or is of another authority stays', async () => {
  const directory = await filesOf('mail.example')
  writeFileSync(join(directory, authority, 'broken.example.pem'), 'rubbish')
  const { names } = await start(directory, { days: 31 })
  expect(names).toEqual([])
  expect(readdirSync(join(directory, authority)).toSorted()).toEqual(['account.json', 'attempts.json', 'broken.example.pem'])
  expect(readdirSync(join(directory, 'old-ca.example')).toSorted()).toEqual(['account.json', 'attempts.json', 'mail.example.pem'])
})

test.each([
  ['broken', '{"key": '],
  ['of no account', 'null'],
])('an account file that is %s stays, and is taken over once it was mended', async (_what, text) => {
  const directory = await filesOf()
  const file = join(directory, authority, 'account.json')
  writeFileSync(file, text)
  const { services, account: none } = await start(directory)
  expect(none).toBeNull()
  expect(readFileSync(file, 'latin1')).toBe(text)
  writeFileSync(file, JSON.stringify(account))
  expect((await start(directory, { services })).account).toEqual(account)
  expect(existsSync(file)).toBe(false)
})

test('an account file stays where the database has another account', async () => {
  const directory = await filesOf()
  const services = await certificateServices()
  await new AcmeState(services, authority).keepAccount({ ...account, key: 'another key' })
  expect((await start(directory, { services })).account).toMatchObject({ key: 'another key' })
  expect(readdirSync(join(directory, authority))).toEqual(['account.json'])
})

test.each([
  ['chain', 'rubbish'],
  ['key', Buffer.from('rubbish')],
])('a certificate whose %s in the database is damaged is taken from its file', async (column, damaged) => {
  const directory = await filesOf('mail.example')
  const { services } = await start(directory)
  const rows = () => services.db.read(`select ${column} as damaged from certificate`)
  await services.db.write([{ sql: `update certificate set ${column} = :damaged`, params: { damaged } }])
  await start(directory, { services })
  expect(readdirSync(join(directory, authority))).toContain('mail.example.pem')
  expect(await rows()).not.toMatchObject([{ damaged }])
  const issued = new IssuedCertificates(services, authority)
  await issued.load()
  expect(issued.names).toEqual(['mail.example'])
})
