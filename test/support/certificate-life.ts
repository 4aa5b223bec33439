import { expect } from 'vitest'
import { AcmeState } from '../../src/platform/certificate/acme-state.ts'
import { noAttempts } from '../../src/platform/certificate/attempt-state.ts'
import { certificateRows, keptChain } from '../../src/platform/certificate/certificate-rows.ts'
import { ChallengeAnswers } from '../../src/platform/certificate/challenge-answers.ts'
import { IssuedCertificates } from '../../src/platform/certificate/issued-certificates.ts'
import type { TestRelay } from './start-relay.ts'
import { testCertificate } from './test-certificates.ts'

/** An authority issues a certificate, which is kept, replaced and forgotten; the account there stays. */
export async function keepCertificates({ relay: { services } }: TestRelay): Promise<void> {
  const [authority, name] = ['ca.example', 'links.sender.example']
  const state = new AcmeState(services, authority)
  await state.keepAccount({ directory: `https://${authority}/directory`, url: null, key: 'none', madeAt: 0 })
  await state.keepAttempts(noAttempts)
  await state.hasten()
  expect([await state.isKept(), await state.attempts(), await state.account()]).toMatchObject([true, noAttempts, { key: 'none' }])
  const answers = new ChallengeAnswers(services)
  await answers.load()
  const hide = await answers.show({ type: 'http-01', name, token: 'token', keyAuthorization: 'token.print' })
  expect(answers.httpAnswer('token')).toBe('token.print')
  await hide()
  expect(answers.httpAnswer('token')).toBe(undefined)
  const issued = new IssuedCertificates(services, authority)
  await issued.load()
  const { cert: chain, key } = await testCertificate([name])
  await issued.keep(name, { chain, key }, Date.now())
  const [{ id = '' } = {}] = await certificateRows(services.db, { authority })
  await issued.reload(id)
  expect(await keptChain(services.db, id)).toBe(chain)
  await issued.forget(name)
  expect(issued.names).toEqual([])
}
