require 'net/smtp'

env = ENV.to_h
client = Net::SMTP.new(env['HOST'], env['PORT'].to_i)
context = OpenSSL::SSL::SSLContext.new
context.verify_mode = OpenSSL::SSL::VERIFY_NONE
client.enable_starttls(context)
client.start('client.example', 'any', env['KEY'], :plain) do |session|
  session.send_message(File.binread(env['MESSAGE']), env['FROM'], env['TO'])
end
