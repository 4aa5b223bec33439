import { expect, test } from 'vitest'
import { pageFaults, visitDashboard } from '../support/dashboard-visit.ts'

interface Published {
  record: string
  type: string
  name: string
  value: string
  priority?: number
}

/** The zone in which all these records are published. */
function zoneOf(records: Published[]): Record<string, { txt?: string[]; mx?: [number, string][]; cname?: string }> {
  const zone: ReturnType<typeof zoneOf> = {}
  for (const { type, name, value, priority = 0 } of records) {
    const at = (zone[name] ??= {})
    if (type === 'TXT') at.txt = [...(at.txt ?? []), value]
    if (type === 'MX') at.mx = [[priority, value]]
    if (type === 'CNAME') at.cname = value
  }
  return zone
}

test('each record says what was found instead and what to change, until all are found', async () => {
  const { relay, tab, context } = await visitDashboard()
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const { body: domain } = await relay.call('POST', '/api/domains', { name: 'acme.example' })
  const records: Published[] = domain.records
  const dkim = records[0] as Published
  relay.dns.zone['send.acme.example'] = { txt: ['v=spf1 include:_spf.google.com ~all'] }
  relay.dns.zone[`${dkim.name}.acme.example`] = { txt: [dkim.value] }
  await tab.goto(`${relay.baseUrl}/domains/acme.example`)
  await tab.getByText(/Next check in \d+ seconds?\./).waitFor()
  await tab.getByRole('button', { name: 'Check now' }).click()
  await tab.getByText('it does not allow this server: add a:relay.example to it').waitFor()
  await tab.getByText(`It was found at ${dkim.name}.acme.example`).waitFor()
  await tab.getByText('Under the wrong name').waitFor()
  expect(await tab.getByRole('button', { name: 'Check now' }).isDisabled()).toBe(true)

  await tab.getByRole('button', { name: 'Text for a colleague' }).click()
  await tab.getByRole('button', { name: 'Copied' }).waitFor()
  const text = await tab.evaluate(() => (globalThis as any).navigator.clipboard.readText())
  expect(text).toContain('Host: send\n  Value: v=spf1 a:relay.example ~all')
  expect(text).toContain('DNS of acme.example')

  Object.assign(relay.dns.zone, zoneOf(records))
  relay.clock.advance(11_000)
  await expect.poll(() => tab.getByRole('button', { name: 'Check now' }).isEnabled()).toBe(true)
  await tab.getByRole('button', { name: 'Check now' }).click()
  await tab.getByText('Verified', { exact: true }).waitFor()
  await tab.getByRole('heading', { name: 'DKIM keys' }).waitFor()
})

test('keys are replaced, settings changed, and the domain removed by its name', async () => {
  const { relay, tab } = await visitDashboard()
  await tab.goto(`${relay.baseUrl}/domains/sender.example`)
  await tab.getByText(/Mail is signed with/).waitFor()
  await tab.getByText('No reports in the last 30 days.').waitFor()
  await tab.getByRole('button', { name: 'New keys' }).click()
  await tab.getByText('You publish these records beside the old ones.').waitFor()
  await tab.getByRole('dialog').getByRole('button', { name: 'New keys' }).click()
  await tab.getByText('New keys are waiting for their records.').waitFor()
  const records = async (): Promise<(Published & { key: string | null })[]> =>
    (await relay.call('GET', '/api/domains/sender.example')).body.records
  Object.assign(relay.dns.zone, zoneOf((await records()).filter(({ key }) => key === 'next')))
  relay.clock.advance(11_000)
  await tab.getByRole('button', { name: 'Check now' }).click()
  await tab.getByText('Old keys no longer sign.').waitFor()
  await tab.getByText('No longer signs', { exact: true }).first().waitFor()

  await tab.getByLabel('Encryption').selectOption('TLS with a valid certificate only')
  await tab.getByLabel('Allow sender addresses at subdomains').click()
  await tab.getByLabel('Tracking host').fill('links')
  await tab.getByRole('button', { name: 'Save' }).click()
  await tab.getByRole('heading', { name: 'Tracking host' }).waitFor()
  await expect
    .poll(async () => (await relay.call('GET', '/api/domains/sender.example')).body)
    .toMatchObject({
      tls: 'enforced',
      subdomains: false,
      tracking_subdomain: 'links',
    })
  await tab.getByRole('button', { name: 'Remove the domain' }).click()
  const remove = tab.getByRole('dialog').getByRole('button', { name: 'Remove the domain' })
  expect(await remove.isDisabled()).toBe(true)
  await tab.getByLabel('Type sender.example to confirm').fill('sender.example')
  await remove.click()
  await tab.getByRole('heading', { name: 'Domains' }).waitFor()
  expect((await relay.call('GET', '/api/domains/sender.example')).status).toBe(404)
})

test('a viewer sees the records and no button that changes', async () => {
  const visit = await visitDashboard()
  const { relay, tab } = visit
  await tab.getByRole('button', { name: 'Log out' }).first().click()
  await tab.getByRole('heading', { name: 'Log in' }).waitFor()
  await visit.logIn(await visit.addUser('viewer'))
  await tab.goto(`${relay.baseUrl}/domains/sender.example`)
  await tab.getByRole('heading', { name: 'DKIM keys' }).waitFor()
  expect(await tab.getByRole('button', { name: /Check now|New keys|Remove|Save/ }).count()).toBe(0)
  await tab.getByRole('button', { name: 'Zone file' }).waitFor()
})

test('the page of a domain passes the rules of every page', async () => {
  const { relay, tab } = await visitDashboard()
  const { body: domain } = await relay.call('POST', '/api/domains', { name: 'acme.example', tracking_subdomain: 'links' })
  const [dkim, , , , dmarc] = domain.records as Published[]
  relay.dns.zone['send.acme.example'] = { txt: ['v=spf1 include:_spf.google.com ~all'] }
  Object.assign(relay.dns.zone, zoneOf([dkim as Published, dmarc as Published]))
  await relay.call('POST', '/api/domains/acme.example/verify')
  await relay.call('POST', '/api/domains/sender.example/dkim/rotate')
  const pages: [string, string][] = [
    ['domain-pending', '/domains/acme.example'],
    ['domain-verified', '/domains/sender.example'],
  ]
  expect(await pageFaults(tab, relay.baseUrl, pages)).toEqual([])
})
