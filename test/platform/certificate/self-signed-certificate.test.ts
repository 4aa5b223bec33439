import { X509Certificate } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect, createServer } from 'node:tls'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { loadOrMakeCertificate } from '../../../src/platform/certificate/self-signed-certificate.ts'
import { testDirectory } from '../../support/temporary-directory.ts'

const dayMs = 86_400_000
const now = Date.now()
const options = (directory: string) => ({ certFile: null, keyFile: null, directory, hostname: 'relay.example.com', now })

test('a certificate is made once, kept, and good enough for a client that trusts it', async () => {
  const directory = join(testDirectory(), 'tls')
  const made = await loadOrMakeCertificate(options(directory))
  expect(made.origin).toBe('made')
  expect((await stat(join(directory, 'self-signed.key'))).mode & 0o777).toBe(0o600)
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

test('it is made anew in its last 30 days, for another hostname, and where the files are damaged', async () => {
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

  await writeFile(join(directory, 'self-signed.key'), 'rubbish')
  expect((await loadOrMakeCertificate({ ...options(directory), hostname: '192.0.2.7' })).origin).toBe('made')
})

test('configured files are used as they are, and their faults are told', async () => {
  const directory = testDirectory()
  const own = await loadOrMakeCertificate(options(directory))
  const files = { certFile: join(directory, 'self-signed.crt'), keyFile: join(directory, 'self-signed.key') }
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
  await loadOrMakeCertificate(options(join(directory, 'other')))
  await refused({ ...files, keyFile: join(directory, 'other', 'self-signed.key') })
})
