import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
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

test('what has expired goes, also that of an authority that was left, and is not taken over', async () => {
  const directory = await filesOf('mail.example')
  writeFileSync(join(directory, 'old-ca.example', 'broken.example.pem'), 'rubbish')
  const { names } = await start(directory, { days: 31 })
  expect(names).toEqual([])
  expect(readdirSync(directory)).toEqual(['old-ca.example'])
  expect(readdirSync(join(directory, 'old-ca.example'))).toContain('broken.example.pem')
})
