import { connect, type AddressInfo, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { restMs } from '../../../src/platform/connection/connection-slots.ts'
import { startMetricsListener } from '../../../src/api/http/metrics-listener.ts'
import { testCore } from '../../support/test-core.ts'

test('connections that are merely held open keep no scraper out', async () => {
  const { clock, log } = await testCore()
  const text = async (): Promise<string> => 'sterna_up 1\n'
  const listener = await startMetricsListener({ clock, log, listen: [{ host: '127.0.0.1', port: 0 }], trustedProxies: [], text })
  onTestFinished(() => listener.stop())
  const { port } = listener.addresses[0] as AddressInfo
  const held: Socket[] = []
  for (let i = 0; i < 20; i++) {
    const socket = connect({ host: '127.0.0.1', port }).on('error', () => {})
    onTestFinished(() => void socket.destroy())
    await new Promise((connected) => socket.once('connect', connected))
    held.push(socket)
  }
  clock.advance(restMs)
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`)
  expect(await answer.text()).toBe('sterna_up 1\n')
})
