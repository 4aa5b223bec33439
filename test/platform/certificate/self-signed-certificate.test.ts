import { X509Certificate } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { access, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect, createServer } from 'node:tls'
import type { AddressInfo } from 'node:net'
import { beforeEach, expect, test } from 'vitest'
import { loadOrMakeCertificate } from '../../../src/platform/certificate/self-signed-certificate.ts'
import { certificateServices } from '../../support/certificate-services.ts'
import { testCertificate } from '../../support/test-certificates.ts'
import { testDirectory } from '../../support/temporary-directory.ts'

const dayMs = 86_400_000
const now = Date.now()
let services: Awaited<ReturnType<typeof certificateServices>>

beforeEach(async () => {
  services = await certificateServices()
})

const options = (directory: string) => {
  const { db, secrets } = services
  return { certFile: null, keyFile: null, directory, db, secrets, hostname: 'relay.example.com', now }
}

test('a certificate is made once, kept, and good enough for a client that trusts it', async () => {
  const directory = join(testDirectory(), 'tls')
  const made = await loadOrMakeCertificate(options(directory))
  expect(made.origin).toBe('made')
  expect(await readFile(join(directory, 'self-signed.crt'), 'utf8')).toBe(made.cert)
  expect(await loadOrMakeCertificate(options(directory))).toEqual({ ...made, origin: 'kept' })

  const server = createServer(made).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const socket = connect({ port: (server.address() as AddressInfo).port, ca: made.cert, servername: 'relay.example.com' })
  await new Promise((resolve, reject) => {
    socket.once('secureConnect', resolve)
    socket.once('error', reject)
  })
  expect(socket.authorized).toBe(true)
  socket.destroy()
  server.close()
})

test('it is made anew in its last 30 days, for another hostname, and where it is damaged', async () => {
  const directory = testDirectory()
  const first = await loadOrMakeCertificate(options(directory))
  const later = { ...options(directory), now: now + 334 * dayMs }
  expect((await loadOrMakeCertificate(later)).origin).toBe('kept')
  const renewed = await loadOrMakeCertificate({ ...later, now: now + 336 * dayMs })
  expect(renewed.origin).toBe('made')
  expect(renewed.fingerprint).not.toBe(first.fingerprint)

  const renamed = await loadOrMakeCertificate({ ...options(directory), hostname: '192.0.2.7' })
  expect(renamed.origin).toBe('made')
  expect(new X509Certificate(renamed.cert).checkIP('192.0.2.7')).toBe('192.0.2.7')

  await services.db.write([{ sql: 'update certificate set key = :key', params: { key: Buffer.from('rubbish') } }])
  expect((await loadOrMakeCertificate({ ...options(directory), hostname: '192.0.2.7' })).origin).toBe('made')
})

test('nodes that make one at the same time use the same, and each puts it where clients find it', async () => {
  const directories = [testDirectory(), testDirectory(), testDirectory()]
  const made = await Promise.all(directories.map((directory) => loadOrMakeCertificate(options(directory))))
  expect(new Set(made.map(({ fingerprint }) => fingerprint)).size).toBe(1)
  for (const directory of directories) expect(await readFile(join(directory, 'self-signed.crt'), 'utf8')).toBe(made[0]?.cert)
})

test('that of an earlier version, in files, is taken over, and the file of its key goes with it', async () => {
  const directory = testDirectory()
  const { cert, key } = await testCertificate(['relay.example.com'], { days: 365 })
  await writeFile(join(directory, 'self-signed.crt'), cert)
  await writeFile(join(directory, 'self-signed.key'), key)
  const taken = await loadOrMakeCertificate(options(directory))
  expect([taken.cert, taken.key, taken.origin]).toEqual([cert, key, 'kept'])
  expect(await loadOrMakeCertificate(options(testDirectory()))).toEqual(taken)
  expect(await readFile(join(directory, 'self-signed.key'), 'utf8')).toBe(key)
  await loadOrMakeCertificate({ ...options(directory), hostname: 'other.example.com' })
  await expect(access(join(directory, 'self-signed.key'))).rejects.toThrow()
})

test('configured files are used as they are, and their faults are told', async () => {
  const directory = testDirectory()
  const own = await loadOrMakeCertificate(options(directory))
  const files = { certFile: join(directory, 'own.crt'), keyFile: join(directory, 'own.key') }
  await writeFile(files.certFile, own.cert)
  await writeFile(files.keyFile, own.key)
  const loaded = await loadOrMakeCertificate({ ...options('/nowhere'), ...files })
  expect(loaded).toEqual({ ...own, origin: 'configured' })

  const refused = (given: { certFile: string | null; keyFile: string | null }) =>
    expect(loadOrMakeCertificate({ ...options('/nowhere'), ...given })).rejects.toMatchObject({ code: 'configuration' })
  await refused({ ...files, keyFile: null })
  await refused({ ...files, keyFile: join(directory, 'missing') })
  await refused({ ...files, certFile: directory })
  await writeFile(join(directory, 'large'), `${own.cert}${' '.repeat(1024 * 1024)}`)
  await refused({ ...files, certFile: join(directory, 'large') })
  // Nobody writes to it.
  execFileSync('mkfifo', [join(directory, 'pipe')])
  await refused({ ...files, certFile: join(directory, 'pipe') })
  await writeFile(join(directory, 'other.key'), (await testCertificate(['relay.example.com'], { days: 365 })).key)
  await refused({ ...files, keyFile: join(directory, 'other.key') })
})
