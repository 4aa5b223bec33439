import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { replyEntries } from '../../../src/readers/explanation/reply-entries.ts'
import { mxProviderOf, providerOf, type ProviderRow } from '../../../src/mail-out/delivery/mx-provider.ts'

test.each([
  ['gmail-smtp-in.l.google.com', 'google'],
  ['ASPMX.L.GOOGLE.COM.', 'google'],
  ['alt4.gmr-smtp-in.l.googlemail.com', 'google'],
  ['outlook-com.olc.protection.outlook.com', 'microsoft'],
  ['contoso-com.mail.protection.outlook.com', 'microsoft'],
  ['contoso-com.o-v1.mx.microsoft', 'microsoft'],
  ['mta5.am0.yahoodns.net', 'yahoo'],
  ['mx5.mail.yahoo.co.jp', 'yahoo_japan'],
  ['mx01.mail.icloud.com', 'apple'],
  ['mx00.t-online.de', 'tonline'],
  ['mxa-001.pphosted.com', 'proofpoint'],
  ['mx1.mail.ovh.net', 'ovh'],
  ['vps-1234.vps.ovh.net', 'other'],
  ['1.0.2.192.host.secureserver.net', 'other'],
  ['c-192-0-2-1.hsd1.ca.comcast.net', 'other'],
  ['sub-1-2-3-4.hd.free.fr', 'other'],
  ['lfbn-1-2.w192-0.abo.wanadoo.fr', 'other'],
  ['mx.notgoogle.com', 'other'],
  ['google.com.example', 'other'],
  ['mx.rcpt.example', 'other'],
  ['com', 'other'],
  ['', 'other'],
])('%s is run by %s', (host, provider) => {
  expect(mxProviderOf(host)).toBe(provider)
})

test('each ending names one provider, each provider has limits, and each source is named', () => {
  const file = new URL('../../../config/providers.json', import.meta.url)
  const { providers, sources } = JSON.parse(readFileSync(file, 'utf8')) as { providers: ProviderRow[]; sources: Record<string, string> }
  const answering = new Set([...providers.map(({ id }) => id), ...replyEntries.map(({ provider }) => provider)])
  const endings = providers.flatMap(({ mx }) => mx)
  expect(new Set(endings).size).toBe(endings.length)
  for (const { id, mx, replies, connections, messages, from } of providers) {
    expect(providerOf(`any.${mx[0]}`)?.id).toBe(id)
    expect(Number.isInteger(connections) && connections > 0 && Number.isInteger(messages) && messages > 0, id).toBe(true)
    if (replies !== undefined) expect(answering).toContain(replies)
    if (from !== undefined) expect(Object.keys(sources)).toContain(from)
  }
})
