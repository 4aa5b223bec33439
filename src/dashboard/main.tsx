import { render } from 'preact'
import './theme.ts'
import { loadSession } from './api/client.ts'
import { App } from './app.tsx'
import { startKeyboard } from './keyboard.ts'
import { startRouter } from './router.tsx'
import { loadTexts } from './texts/texts.ts'

const retryMs = 2_000

/** Asks until the server answers who is logged in. */
async function begin(): Promise<void> {
  try {
    await loadSession()
  } catch {
    setTimeout(() => void begin(), retryMs)
  }
}

await loadTexts()
startRouter()
startKeyboard()
render(<App />, document.body)
await begin()
