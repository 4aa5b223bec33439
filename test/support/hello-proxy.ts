import { onTestFinished } from 'vitest'
import { startHelloFilter, type DislikesHello, type HelloFilter } from './hello-filter.ts'

export type HelloProxy = HelloFilter

/** A filter of hellos that goes away with the test. */
export async function helloProxy(to: { host: string; port: number }, resets: DislikesHello, host = to.host): Promise<HelloProxy> {
  const proxy = await startHelloFilter(to, resets, { host })
  onTestFinished(proxy.close)
  return proxy
}
