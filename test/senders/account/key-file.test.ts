import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openKeyFile, secretsFrom } from '../../../src/senders/account/key-file.ts'
import { cutOffBefore } from '../../support/cut-off.ts'
import { testDirectory } from '../../support/temporary-directory.ts'

const plain = Buffer.from('a private key')
const newFile = (): string => join(testDirectory(), 'secret.key')

test('the first start makes a file for us alone, later ones read it', () => {
  const path = newFile()
  const first = openKeyFile(path)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readFileSync(path, 'utf8')).toMatch(/^[A-Za-z0-9+/]{43}=\n$/)
  const second = openKeyFile(path)
  expect(second.open(first.seal(plain, 'x'), 'x')).toEqual(plain)
  expect(second.deriveKey('verp')).toEqual(first.deriveKey('verp'))
})

test('a key file is made whole or not at all, wherever that is cut off, and one that is there is not touched', async () => {
  for (let count = 1, isCutOff = true; isCutOff; count++) {
    const path = newFile()
    isCutOff = (await cutOffBefore(count, async () => openKeyFile(path))) >= count
    if (existsSync(path)) expect(readFileSync(path, 'utf8')).toMatch(/^[A-Za-z0-9+/]{43}=\n$/)
    openKeyFile(path)
    const { ino } = statSync(path)
    openKeyFile(path)
    expect(statSync(path).ino).toBe(ino)
  }
})

test.each(['', 'short', `${'A'.repeat(44)}\n`, `${'A'.repeat(43)}=\n\n`, `${'A'.repeat(43)}=x`])(
  'a malformed file is refused: %j',
  (text) => {
    const path = newFile()
    writeFileSync(path, text, { mode: 0o600 })
    expect(() => openKeyFile(path)).toThrow(/32 bytes in base64/)
    expect(readFileSync(path, 'utf8')).toBe(text)
  },
)

test.skipIf(process.platform === 'win32').each([0o640, 0o604, 0o620])('a file with mode %o is refused', (mode) => {
  const path = newFile()
  openKeyFile(path)
  chmodSync(path, mode)
  expect(() => openKeyFile(path)).toThrow(`chmod 600 ${path}`)
})

test('a place where no file can be made is a configuration fault', () => {
  expect(() => openKeyFile(join(testDirectory(), 'missing', 'secret.key'))).toThrow(expect.objectContaining({ code: 'configuration' }))
})

test('what is sealed opens with the same key and context only, and only unchanged', () => {
  const secrets = secretsFrom(Buffer.alloc(32, 1))
  const sealed = secrets.seal(plain, 'dkim_key dk_1')
  expect(Buffer.from(sealed).includes(plain)).toBe(false)
  expect(secrets.seal(plain, 'dkim_key dk_1')).not.toEqual(sealed)
  expect(secrets.open(sealed, 'dkim_key dk_1')).toEqual(plain)
  const refusal = expect.objectContaining({ code: 'configuration' })
  expect(() => secrets.open(sealed, 'dkim_key dk_2')).toThrow(refusal)
  expect(() => secretsFrom(Buffer.alloc(32, 2)).open(sealed, 'dkim_key dk_1')).toThrow(refusal)
  for (let i = 0; i < sealed.length; i++) {
    const changed = Buffer.from(sealed)
    changed[i] = (changed[i] ?? 0) ^ 1
    expect(() => secrets.open(changed, 'dkim_key dk_1')).toThrow(refusal)
  }
  expect(() => secrets.open(sealed.subarray(0, 8), 'dkim_key dk_1')).toThrow(refusal)
  expect(secrets.open(secrets.seal(new Uint8Array(), 'x'), 'x')).toHaveLength(0)
})

test('keys for different purposes differ', () => {
  const secrets = secretsFrom(Buffer.alloc(32, 1))
  expect(secrets.deriveKey('verp')).toHaveLength(32)
  expect(secrets.deriveKey('verp')).not.toEqual(secrets.deriveKey('unsubscribe'))
})
