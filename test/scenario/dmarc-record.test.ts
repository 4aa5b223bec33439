import { expect, onTestFinished, test } from 'vitest'
import { examineDomains } from '../../src/upkeep/doctor/examine-domains.ts'
import { startTestRelay } from '../support/start-relay.ts'

test.each([
  {
    txt: ['v=DMARC1; p=none', 'v=DMARC1; p=reject'],
    reason: 'several',
    advice: { step: 'repair', record: null, reason_codes: [{ code: 'record_several', parameters: {} }] },
    finding: 'dmarc_several',
  },
  {
    txt: ['"v=DMARC1\\; p=quarantine"'],
    reason: 'quoted',
    advice: { step: 'repair', record: { value: 'v=DMARC1; p=quarantine' }, reason_codes: [{ code: 'record_quoted', parameters: {} }] },
    finding: 'dmarc_quoted',
  },
])('the DMARC records $txt are read alike by verification, advice and doctor', async ({ txt, reason, advice, finding }) => {
  const relay = await startTestRelay({}, { '_dmarc.sender.example': { txt } })
  onTestFinished(() => relay.stop())
  await relay.call('POST', '/api/domains/sender.example/verify')
  const record = async () =>
    (await relay.call('GET', '/api/domains/sender.example')).body.records.find((each: { record: string }) => each.record === 'DMARC')
  await expect.poll(record).toMatchObject({ reason, found: txt.join('\n') })
  expect(await record()).not.toMatchObject({ status: 'verified' })
  expect((await relay.call('GET', '/api/domains/sender.example/dmarc')).body).toMatchObject({ policy: null, advice })
  const { sendingDomains, resolver } = relay.relay.services
  const [domain] = sendingDomains.find('sender.example')
  const findings = await examineDomains([{ domain: domain!, records: sendingDomains.records(domain!) }], resolver, () => false)
  expect(findings.map(({ code }) => code)).toContain(finding)
})
