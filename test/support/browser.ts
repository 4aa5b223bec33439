import { chromium, type Browser } from 'playwright-core'
import { onTestFinished } from 'vitest'

/** Debian's Chromium; it asks nobody outside for anything. */
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** A browser that ends with the test. */
export async function openBrowser(): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args })
  onTestFinished(() => browser.close())
  return browser
}
