import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createLog } from '../../../src/platform/log.ts'
import { CertificateRenewal } from '../../../src/platform/certificate/certificate-renewal.ts'
import { loadOrMakeCertificate } from '../../../src/platform/certificate/self-signed-certificate.ts'
import { certificateServices } from '../../support/certificate-services.ts'
import { startTestSubmissionServer } from '../../support/submission-server.ts'
import { testDirectory } from '../../support/temporary-directory.ts'
import { testCertificate } from '../../support/test-certificates.ts'

const relay = await startTestSubmissionServer()

async function seen() {
  const plain = await relay.connect()
  await plain.command('EHLO client.example')
  await plain.command('STARTTLS')
  await plain.startTls()
  return [plain.fingerprint, (await relay.connect({ tls: true })).fingerprint]
}

test('a certificate renewed on disk is used for new connections; one that cannot be used is told of once and changes nothing', async () => {
  const directory = testDirectory()
  const [certFile, keyFile] = [join(directory, 'relay.crt'), join(directory, 'relay.key')]
  const { db, secrets } = await certificateServices()
  const load = () => loadOrMakeCertificate({ certFile, keyFile, directory, db, secrets, hostname: 'relay.example.com', now: Date.now() })
  const install = async (): Promise<string> => {
    const { cert, key } = await testCertificate(['relay.example.com'])
    writeFileSync(certFile, cert)
    writeFileSync(keyFile, key)
    return (await load()).fingerprint
  }
  await install()
  const logged: string[] = []
  const log = createLog('info', (line) => logged.push(JSON.parse(line).message))
  const inUse = await load()
  const renewal = new CertificateRenewal(inUse, { load, use: (renewed) => relay.server.useCertificate(renewed), log })
  relay.server.useCertificate(inUse)
  const standing = await relay.login()

  const renewed = await install()
  await renewal.look()
  await renewal.look()
  expect(await seen()).toEqual([renewed, renewed])
  expect((await standing.send('From: me@example.com\r\nSubject: still here\r\n\r\nhello')).code).toBe(250)
  expect(logged.splice(0)).toEqual(['the certificate was renewed'])

  // Between the two files that a renewal writes, the key does not belong to the certificate.
  writeFileSync(certFile, (await testCertificate(['relay.example.com'])).cert)
  await renewal.look()
  await renewal.look()
  expect(await seen()).toEqual([renewed, renewed])
  expect(logged.splice(0)).toEqual(['the certificate on disk cannot be used; the one in use stays'])

  await install()
  appendFileSync(certFile, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
  await renewal.look()
  expect(await seen()).toEqual([renewed, renewed])
  expect(logged.splice(0)).toEqual(['the certificate on disk cannot be used; the one in use stays'])

  const last = await install()
  await renewal.look()
  expect(await seen()).toEqual([last, last])
})
