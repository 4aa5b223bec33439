import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { connect, type SecureVersion } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { ChallengeAnswers } from '../../../src/platform/certificate/challenge-answers.ts'
import { challengeCertificate, newKeyPair, pemOf } from '../../../src/platform/certificate/signing-request.ts'
import { tlsOptionsOf } from '../../../src/api/http/answer-challenge.ts'
import { certificateServices } from '../../support/certificate-services.ts'

test.each<[SecureVersion, object]>([
  ['TLSv1.2', {}],
  ['TLSv1.3', {}],
  ['TLSv1.2', { servername: 'stranger.example' }],
  ['TLSv1.3', { servername: 'stranger.example' }],
])('with %s and %o, a stranger who speaks acme-tls/1 is told that we do not', async (version, name) => {
  const keys = await newKeyPair()
  const cert = challengeCertificate('mail.example', 'x.y', { keys, now: Date.now() })
  const server = createServer(tlsOptionsOf({ cert, key: pemOf(keys) }, new ChallengeAnswers(await certificateServices())))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const versions = { minVersion: version, maxVersion: version }
  const client = connect({ port, host: '127.0.0.1', ALPNProtocols: ['acme-tls/1'], rejectUnauthorized: false, ...versions, ...name })
  const [error] = (await once(client, 'error').catch((failure: unknown) => [failure])) as [Error]
  expect(error.message).toContain('no application protocol')
})
