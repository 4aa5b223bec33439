import { expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../src/log.ts'
import { searchIndex } from '../../src/search/search-index.ts'
import { startTestRelay } from '../support/start-relay.ts'

test('mail is found by recipient, author, status and events at once, and after the log was read for searches', async () => {
  const relay = await startTestRelay()
  onTestFinished(() => relay.stop())
  const { db } = relay.relay.services
  const ids = async (query: string): Promise<string[]> =>
    (await relay.call('GET', `/api/emails?${query}`)).body.data.map(({ id }: { id: string }) => id)
  const types = async (query: string): Promise<string[]> =>
    (await relay.call('GET', `/api/events?${query}`)).body.data.map(({ type }: { type: string }) => type)
  const isQuiet = () => expect.poll(() => db.read('select id from recipient where owner is not null')).toEqual([])

  const first = await relay.send('delivered@simulator.test')
  await isQuiet()
  // What is read for searches comes between two emails, so that one is found by it and the other behind it.
  await searchIndex({ db, log: silentLog }).keepUp()
  const later = new Date(relay.clock.now() + 3_600_000).toISOString()
  const second = await relay.send(['Delivered@Simulator.test', 'softbounced@simulator.test'])
  const third = await relay.send('bounced@simulator.test')
  const fourth = await relay.send('ann@rcpt.example', { scheduled_at: later })
  await isQuiet()

  for (const _ of ['before', 'after']) {
    expect(await ids('to=delivered@simulator.test')).toEqual([second, first])
    expect(await ids(`to=delivered@simulator.test&limit=1&after=${second}`)).toEqual([first])
    expect(await ids(`to=delivered@simulator.test&limit=1&before=${first}`)).toEqual([second])
    expect(await ids('to=bounced@simulator.test')).toEqual([third])
    expect(await ids('to=nobody@simulator.test')).toEqual([])
    expect(await ids('from=App@sender.example')).toEqual([fourth, third, second, first])
    expect(await ids('from=app@sender.example&to=ann@rcpt.example')).toEqual([fourth])
    expect(await ids('status=delivered')).toEqual([first])
    expect(await ids('status=bounced')).toEqual([third])
    expect(await ids('status=scheduled')).toEqual([fourth])
    expect(await ids('status=queued')).toEqual([])
    expect(await types('type=email.bounced&to=bounced@simulator.test')).toEqual(['email.bounced'])
    expect(await types('type=email.complained')).toEqual([])
    expect(await types('to=delivered@simulator.test&order=asc&type=email.delivered')).toHaveLength(2)
    await searchIndex({ db, log: silentLog }).keepUp()
  }
})
