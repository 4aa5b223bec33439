import { chromium, type Browser } from 'playwright-core'
import { onFileFinished } from './file-finished.ts'

/** It asks nobody outside for anything. */
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Debian's Chromium without a window, of which each context would otherwise draw the bars with a process of its own. */
const executablePath = '/usr/bin/chromium-headless-shell'

let shared: Promise<Browser> | undefined

/** The browser of the file. What a test opens in it, it closes itself. */
export function openBrowser(): Promise<Browser> {
  if (shared) return shared
  const launched = chromium.launch({ executablePath, args })
  onFileFinished(async () => {
    shared = undefined
    await (await launched).close()
  })
  return (shared = launched)
}
