require 'mail'

env = ENV.to_h
message = Mail.new(charset: 'UTF-8') do
  from env['FROM']
  to env['TO']
  subject env['SUBJECT'].dup.force_encoding('UTF-8')
  text_part do
    content_type 'text/plain; charset=UTF-8'
    body File.read(env['TEXT'], encoding: 'UTF-8')
  end
  add_file filename: env['FILENAME'].dup.force_encoding('UTF-8'), content: File.binread(env['ATTACHMENT'])
end
message.delivery_method :smtp, address: env['HOST'], port: env['PORT'].to_i, user_name: 'any', password: env['KEY'],
                               authentication: :plain, openssl_verify_mode: 'none'
message.deliver!
