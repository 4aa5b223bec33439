import { chromium, type Browser } from 'playwright-core'
import { onFileFinished } from './file-finished.ts'

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

let shared: Promise<Browser> | undefined

/** The browser of the file. What a test opens in it, it closes itself. */
export function openBrowser(): Promise<Browser> {
  if (shared) return shared
  const launched = chromium.launch({ executablePath: '/usr/bin/chromium', args })
  onFileFinished(async () => {
    shared = undefined
    await (await launched).close()
  })
  return (shared = launched)
}
