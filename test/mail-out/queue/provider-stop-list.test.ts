import { expect, onTestFinished, test } from 'vitest'
import { stopProvider } from '../../support/delivery-life.ts'
import { startTestRelay } from '../../support/start-relay.ts'

test('a stop is kept until mail flows again, or until a day after it', async () => {
  const relay = await startTestRelay()
  onTestFinished(() => relay.stop())
  await stopProvider(relay)
  expect(await relay.relay.services.db.read('select id from provider_stop')).toEqual([])
})
